/** The findings of the checks. Each has a name for programs and a sentence for people. */
import type { State } from '../methods/result.ts'

/** In the order in which they run: checks that need a live session come before the one that ends it. */
export const CHECKS = [
  'era',
  'session-issued',
  'session-required',
  'second-connection',
  'one-session',
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

/** The name of a check. */
export type CheckName = (typeof CHECKS)[number]

/** One thing that was seen. */
export interface Evidence {
  readonly check: CheckName
  /** The state that the evidence supports; UNKNOWN if it supports neither. */
  readonly points: State
  readonly sentence: string
  readonly details?: Readonly<Record<string, unknown>>
}

export interface CheckResults {
  readonly evidence: readonly Evidence[]
  /** Checks that were left out, because they would have taken more requests or time than is allowed. */
  readonly notAsked: readonly CheckName[]
}

export function evidence(
  check: CheckName,
  points: State,
  sentence: string,
  details?: Evidence['details'],
): readonly [Evidence] {
  return [{ check, points, sentence, ...(details !== undefined && { details }) }]
}
