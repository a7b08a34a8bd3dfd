/** What speaks for a verdict, each piece with a name for programs and a sentence for people. */
import type { State } from '../methods/result.ts'

/** In the order in which they are made: what needs a live session comes before its end. */
export const CHECKS = [
  'era',
  'session-issued',
  'session-required',
  'second-connection',
  'get-stream',
  'replica',
  'resume',
  'bare-call',
  'after-delete',
  'bare-prompts',
  'bare-resources',
  'invented-session',
  'older-era',
  'request-state',
  'unrelated-requests',
  'stray-output',
  'tasks',
  'handles',
  'declared',
] as const

export type CheckName = (typeof CHECKS)[number]

export interface Evidence {
  readonly check: CheckName
  /** What it speaks for; UNKNOWN where it speaks for neither. */
  readonly points: State
  readonly sentence: string
  readonly details?: Readonly<Record<string, unknown>>
}

export function evidence(
  check: CheckName,
  points: State,
  sentence: string,
  details?: Evidence['details'],
): readonly [Evidence] {
  return [{ check, points, sentence, ...(details !== undefined && { details }) }]
}
