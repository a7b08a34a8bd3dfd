import { groupOf } from '../../../state/stores/index.ts'
import { unanswered } from './answer.ts'
import type { PushedCall } from './pushedCall.ts'

export interface WaitingLimits {
  readonly perProcess: number
  readonly perHolder: number
  /** The parameters of all waiting calls together, and of those of one holder. */
  readonly chars: number
  readonly charsPerHolder: number
}

/** The calls of one holder, of which one has to go, because there are too many, or because they hold too much. */
interface Crowd {
  readonly calls: readonly PushedCall[]
  readonly byCount: boolean
}

/**
 * Makes room for one more waiting call: ends the oldest ones whose clients have disconnected. In this era a lost connection
 * does not end a call, so without a limit waiting calls would fill the memory. A holder over its own limit loses calls of its
 * own; when a group has more than half of the room, or all together are too many, the largest holder does, also where its
 * clients are there, if it has more than the newcomer's would. Throws where no call may be ended.
 */
export function makeRoom(
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
    const abandoned = crowd.calls.find((call) => call.abandoned)
    const oldest = abandoned ?? (hasMore(crowd, waiting, newcomer, holder) ? crowd.calls[0] : undefined)
    if (oldest === undefined) throw unanswered('Too many calls wait for an answer; answer or cancel one first.')
    oldest.end(abandoned === undefined ? TOO_MANY : ABANDONED)
  }
}

const ABANDONED = 'Too many calls wait for an answer, and the client of this one has disconnected.'
const TOO_MANY = 'Too many calls wait for an answer, and most of them are of this caller.'

/** Undefined when there is room. */
function crowdOf(
  waiting: readonly PushedCall[],
  newcomer: PushedCall,
  holder: string,
  limits: WaitingLimits,
): Crowd | undefined {
  const own = waiting.filter((call) => call.holder === holder)
  if (isFull(own, newcomer, limits.perHolder, limits.charsPerHolder))
    return { calls: own, byCount: own.length >= limits.perHolder }
  const { perProcess, chars } = limits
  const group = groupOf(holder)
  const near = group === holder ? [] : waiting.filter((call) => groupOf(call.holder) === group)
  if (near.length > 0 && isFull(near, newcomer, Math.ceil(perProcess / 2), chars / 2)) {
    const byCount = near.length >= perProcess / 2
    return { calls: largest(near, byHolder, byCount), byCount }
  }
  if (!isFull(waiting, newcomer, perProcess, chars)) return undefined
  const byCount = waiting.length >= perProcess
  return { calls: largest(largest(waiting, byGroup, byCount), byHolder, byCount), byCount }
}

/** Whether those who would lose have more than the newcomer's would: their groups, or in one group the holders. */
function hasMore(
  { calls, byCount }: Crowd,
  waiting: readonly PushedCall[],
  newcomer: PushedCall,
  holder: string,
): boolean {
  const [loser = holder] = calls.map((call) => call.holder)
  if (loser === holder) return false
  const isOneGroup = groupOf(loser) === groupOf(holder)
  const sizeOf = (name: string): number => {
    const isOf = (call: PushedCall): boolean => (isOneGroup ? call.holder === name : byGroup(call) === groupOf(name))
    return measureOf(byCount)(waiting.filter(isOf))
  }
  return sizeOf(loser) > sizeOf(holder) + (byCount ? 1 : newcomer.chars)
}

const byHolder = (call: PushedCall): string => call.holder
const byGroup = (call: PushedCall): string => groupOf(call.holder)

/** Those calls of one holder, or of one group, that are the most, or hold the most. */
function largest(
  waiting: readonly PushedCall[],
  by: (call: PushedCall) => string,
  byCount: boolean,
): readonly PushedCall[] {
  const measure = measureOf(byCount)
  const [most = []] = [...Map.groupBy(waiting, by).values()].toSorted((a, b) => measure(b) - measure(a))
  return most
}

function measureOf(byCount: boolean): (calls: readonly PushedCall[]) => number {
  return byCount ? (calls) => calls.length : charsOf
}

function isFull(calls: readonly PushedCall[], newcomer: PushedCall, max: number, maxChars: number): boolean {
  return calls.length >= max || (calls.length > 0 && charsOf(calls) + newcomer.chars > maxChars)
}

function charsOf(calls: readonly PushedCall[]): number {
  return calls.reduce((sum, call) => sum + call.chars, 0)
}
