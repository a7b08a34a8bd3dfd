import { type Level, levelOf, type Method, type State } from '../methods/result.ts'

/** What decided: one of the three methods, or what the probe knows beyond them. */
export type DecidedBy = Method | 'era' | 'transport' | 'control' | 'declaration' | 'nothing'

export interface Decision {
  readonly state: State
  /** Why, as a sentence. */
  readonly message: string
  /** From 0 to 1. */
  readonly confidence: number
  readonly level: Level
  readonly decidedBy: DecidedBy
  readonly details: Readonly<Record<string, unknown>>
}

export function decision(
  state: State,
  decidedBy: DecidedBy,
  confidence: number,
  message: string,
  details: Decision['details'] = {},
): Decision {
  return { state, message, confidence, level: levelOf(confidence), decidedBy, details }
}
