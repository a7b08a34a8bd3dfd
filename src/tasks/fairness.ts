/**
 * Fairness between callers: the next task is the oldest of the caller with the fewest running tasks. So one caller
 * cannot crowd out another, and a single caller gets every slot. Also the limits on unfinished tasks.
 *
 * Anyone can begin sessions, so all anonymous sessions of one network count as one caller, of which they are members.
 * Each member has a limit, and all together have a larger one, because many people may share an address.
 *
 * A claim considers `MAX_CALLERS` of the waiting callers, the next ones each time. So its cost does not grow with the
 * number of tasks and callers, and every caller gets a turn.
 */
import { type TaskError, tooManyTasks } from './errors.ts'

/** The default of `maxTasksPerCaller`. */
export const MAX_TASKS_PER_CALLER = 1000

export const MAX_CALLERS = 64

/** The limit of all members of one holder together, as a multiple of the limit of one caller. */
export const MEMBERS_SHARE = 10

/** The unfinished tasks of a caller that creates another. */
export interface Unfinished {
  readonly ofHolder: number
  /** Undefined if the holder has no members. */
  readonly ofMember: number | undefined
}

/** The error if the caller may not have another task. */
export function refusalOfTask({ ofHolder, ofMember }: Unfinished, maxTasksPerCaller: number): TaskError | undefined {
  const ofCaller = ofMember ?? ofHolder
  if (ofCaller >= maxTasksPerCaller) return tooManyTasks('This caller has', maxTasksPerCaller)
  const most = maxTasksPerCaller * MEMBERS_SHARE
  return ofHolder < most ? undefined : tooManyTasks('Callers without a name, from this network, have', most)
}

/** A caller with ready tasks. */
export interface WaitingCaller {
  readonly holder: string
  /** The number of the caller's running tasks. */
  readonly running: number
  /** The number of ready tasks, counted up to the number of free slots. */
  readonly ready: number
  /** The sequence number of the oldest ready task. */
  readonly oldest: number
}

/** The number of free slots for each caller. */
export function fairShares(callers: readonly WaitingCaller[], slots: number): Map<string, number> {
  const shares = new Map<string, number>()
  const shareOf = ({ holder }: WaitingCaller): number => shares.get(holder) ?? 0
  for (let slot = 0; slot < slots; slot++) {
    const next = callers
      .filter((caller) => shareOf(caller) < caller.ready)
      .reduce<WaitingCaller | undefined>((first, caller) => {
        if (first === undefined) return caller
        const more = caller.running + shareOf(caller) - (first.running + shareOf(first))
        return more < 0 || (more === 0 && caller.oldest < first.oldest) ? caller : first
      }, undefined)
    if (next === undefined) break
    shares.set(next.holder, shareOf(next) + 1)
  }
  return shares
}
