/**
 * How often what behaviour says of sessions was right for the servers of the corpus. The counts are those of the table "By
 * kind of decision" in docs/probe-accuracy.md; a test compares.
 */
import type { State } from '../methods/result.ts'

interface Frequency {
  readonly right: number
  readonly servers: number
}

export const SESSION_FREQUENCIES: Readonly<Record<Exclude<State, 'UNKNOWN'>, Frequency>> = {
  STATELESS: { right: 45, servers: 45 },
  STATEFUL: { right: 18, servers: 18 },
}

/** A rule's own confidence, and at most what was measured. By Laplace's rule, that some were right is never certainty. */
export function measuredConfidence(state: State, confidence: number): number {
  if (state === 'UNKNOWN') return confidence
  const { right, servers } = SESSION_FREQUENCIES[state]
  return Math.min(confidence, Math.round((100 * (right + 1)) / (servers + 2)) / 100)
}
