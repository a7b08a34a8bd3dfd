/**
 * Whose tasks are run next: those of the caller with the fewest running ones, and of these the oldest. So one caller
 * cannot crowd out another, and one who is alone has every slot. And how many tasks one caller may have.
 *
 * Anyone can begin sessions, so all the anonymous sessions of one network count as one caller here, whose members they are.
 * Each has a limit, and all together have a larger one, because many people may have one address.
 *
 * A claim looks at `MAX_CALLERS` of the waiting callers, the next ones each time, and where there are more also at those who
 * have waited longest. So its cost does not grow with the number of tasks and callers, and every caller gets a turn.
 */
import { type TaskError, tooManyTasks } from './errors.ts'

/** The default of `maxTasksPerCaller`. */
export const MAX_TASKS_PER_CALLER = 1000

export const MAX_CALLERS = 64

/** How many more unfinished tasks than one caller all members of one holder may have. */
export const MEMBERS_SHARE = 10

/** How many unfinished tasks there are of those who want another. */
export interface Unfinished {
  readonly ofHolder: number
  /** Undefined where the holder has no members. */
  readonly ofMember: number | undefined
}

/** Why there may be no other task, or undefined. */
export function refusalOfTask({ ofHolder, ofMember }: Unfinished, maxTasksPerCaller: number): TaskError | undefined {
  const ofCaller = ofMember ?? ofHolder
  if (ofCaller >= maxTasksPerCaller) return tooManyTasks('This caller has', maxTasksPerCaller)
  const most = maxTasksPerCaller * MEMBERS_SHARE
  return ofHolder < most ? undefined : tooManyTasks('Callers without a name, from this network, have', most)
}

/** A caller with tasks that are ready. */
export interface WaitingCaller {
  readonly holder: string
  /** How many of the caller's tasks are being run. */
  readonly running: number
  /** How many are ready; those beyond the number of free slots need not be counted. */
  readonly ready: number
  /** The number of the oldest one; numbers grow with each task. */
  readonly oldest: number
}

/** How many tasks of each caller take the free slots. */
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
