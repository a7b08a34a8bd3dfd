import { type PushedCall, unanswered } from './pushedCall.ts'

export interface WaitingLimits {
  readonly perProcess: number
  readonly perSession: number
  /** The parameters of all waiting calls together. */
  readonly chars: number
}

/**
 * Makes room for one more waiting call: ends the oldest ones whose clients have disconnected, and throws if there are
 * none. In this era a lost connection does not end a call, so without a limit waiting calls would fill the memory.
 */
export function evictAbandoned(
  calls: Iterable<PushedCall>,
  newcomer: PushedCall,
  session: string | undefined,
  limits: WaitingLimits,
): void {
  const all = [...calls]
  for (;;) {
    const waiting = all.filter(({ isWaiting }) => isWaiting)
    const ofSession = waiting.filter((call) => call.waitsFor(session))
    const chars = waiting.reduce((sum, call) => sum + call.chars, newcomer.chars)
    const isFull = waiting.length >= limits.perProcess || (chars > limits.chars && waiting.length > 0)
    const crowd = ofSession.length >= limits.perSession ? ofSession : isFull ? waiting : undefined
    if (crowd === undefined) return
    const oldest = crowd.find(({ abandoned }) => abandoned)
    if (oldest === undefined) throw unanswered('Too many calls wait for an answer; answer or cancel one first.')
    oldest.end('Too many calls wait for an answer, and the client of this one has disconnected.')
  }
}
