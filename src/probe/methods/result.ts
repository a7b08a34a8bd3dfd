/** The states of a server, and the result of one method. */
import { PROGRAM_ACCURACY } from './program/weights.ts'
import { TOOLS_ACCURACY } from './toolWeights.ts'

export const STATES = ['STATELESS', 'STATEFUL', 'UNKNOWN'] as const

/** Whether a server needs its sessions. */
export type State = (typeof STATES)[number]

/** How sure a result is, in a word. */
export type Level = 'high' | 'medium' | 'low'

/** Above 0.9 is high, 0.6 to 0.9 medium, below low. */
export function levelOf(confidence: number): Level {
  if (confidence > 0.9) return 'high'
  return confidence >= 0.6 ? 'medium' : 'low'
}

/** The methods, with the share of servers on which each is right. */
export const METHODS = {
  sequential: { number: 1, title: 'sequential connection test', accuracy: 0.99 },
  capabilities: { number: 2, title: 'capability score', accuracy: 0.7 },
  metadata: { number: 3, title: 'metadata heuristics', accuracy: 0.5 },
  tools: { number: 4, title: 'what its tools say', accuracy: TOOLS_ACCURACY },
  program: { number: 5, title: 'what its files say', accuracy: PROGRAM_ACCURACY },
} as const

/** The name of a method. */
export type Method = keyof typeof METHODS

/** The result of one method. */
export interface MethodResult {
  readonly method: Method
  readonly state: State
  readonly message: string
  /** From 0 to 1, for this server. */
  readonly confidence: number
  readonly level: Level
  /** From 0 to 1: the share of servers on which the method is right. */
  readonly accuracy: number
  readonly details: Readonly<Record<string, unknown>>
}

export function methodResult(
  method: Method,
  state: State,
  message: string,
  { confidence, details = {} }: { confidence: number; details?: MethodResult['details'] },
): MethodResult {
  const { accuracy } = METHODS[method]
  return { method, state, message, confidence, level: levelOf(confidence), accuracy, details }
}
