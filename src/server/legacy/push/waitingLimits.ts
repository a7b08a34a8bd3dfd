import { type PushedCall, unanswered } from './pushedCall.ts'

export interface WaitingLimits {
  readonly perProcess: number
  readonly perHolder: number
  /** The parameters of all waiting calls together, and of those of one holder. */
  readonly chars: number
  readonly charsPerHolder: number
}

/**
 * Makes room for one more waiting call: ends the oldest ones whose clients have disconnected, and throws if there are
 * none. In this era a lost connection does not end a call, so without a limit waiting calls would fill the memory. A
 * holder over its own limit loses calls of its own; when all together are too many, the largest holder does.
 */
export function evictAbandoned(
  calls: Iterable<PushedCall>,
  newcomer: PushedCall,
  holder: string,
  limits: WaitingLimits,
): void {
  const all = [...calls]
  for (;;) {
    const waiting = all.filter(({ isWaiting }) => isWaiting)
    const crowd = crowdOf(waiting, newcomer, holder, limits)
    if (crowd === undefined) return
    const oldest = crowd.find(({ abandoned }) => abandoned)
    if (oldest === undefined) throw unanswered('Too many calls wait for an answer; answer or cancel one first.')
    oldest.end('Too many calls wait for an answer, and the client of this one has disconnected.')
  }
}

/** The calls of which one has to go; undefined when there is room. */
function crowdOf(
  waiting: readonly PushedCall[],
  newcomer: PushedCall,
  holder: string,
  limits: WaitingLimits,
): readonly PushedCall[] | undefined {
  const own = waiting.filter((call) => call.holder === holder)
  if (isFull(own, newcomer, limits.perHolder, limits.charsPerHolder)) return own
  if (!isFull(waiting, newcomer, limits.perProcess, limits.chars)) return undefined
  const byHolder = [...Map.groupBy(waiting, (call) => call.holder).values()]
  const measure = waiting.length >= limits.perProcess ? (some: readonly PushedCall[]) => some.length : charsOf
  return byHolder.toSorted((a, b) => measure(b) - measure(a))[0]
}

function isFull(calls: readonly PushedCall[], newcomer: PushedCall, max: number, maxChars: number): boolean {
  return calls.length >= max || (calls.length > 0 && charsOf(calls) + newcomer.chars > maxChars)
}

function charsOf(calls: readonly PushedCall[]): number {
  return calls.reduce((sum, call) => sum + call.chars, 0)
}
