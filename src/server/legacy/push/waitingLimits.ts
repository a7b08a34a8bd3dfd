import { groupOf } from '../../../state/stores/index.ts'
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
 * holder over its own limit loses calls of its own; when a group has more than half of the room, or all together are too
 * many, the largest holder does.
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
  const { perProcess, chars } = limits
  const group = groupOf(holder)
  const near = group === holder ? [] : waiting.filter((call) => groupOf(call.holder) === group)
  if (near.length > 0 && isFull(near, newcomer, Math.ceil(perProcess / 2), chars / 2))
    return largest(near, (call) => call.holder, near.length >= perProcess / 2)
  if (!isFull(waiting, newcomer, perProcess, chars)) return undefined
  const byCount = waiting.length >= perProcess
  return largest(
    largest(waiting, (call) => groupOf(call.holder), byCount),
    (call) => call.holder,
    byCount,
  )
}

/** Those calls of one holder, or of one group, that are the most, or hold the most. */
function largest(
  waiting: readonly PushedCall[],
  by: (call: PushedCall) => string,
  byCount: boolean,
): readonly PushedCall[] {
  const measure = byCount ? (some: readonly PushedCall[]) => some.length : charsOf
  const [most = []] = [...Map.groupBy(waiting, by).values()].toSorted((a, b) => measure(b) - measure(a))
  return most
}

function isFull(calls: readonly PushedCall[], newcomer: PushedCall, max: number, maxChars: number): boolean {
  return calls.length >= max || (calls.length > 0 && charsOf(calls) + newcomer.chars > maxChars)
}

function charsOf(calls: readonly PushedCall[]): number {
  return calls.reduce((sum, call) => sum + call.chars, 0)
}
