/** When to look at a task again. Decides, and does nothing. */
import { ClientError } from '../errors.ts'
import type { Task } from './task.ts'

/** A server that wants to be asked more often is asked so often. */
const SHORTEST_MS = 100
const LONGEST_MS = 3_600_000
/** Where the server says nothing, or nothing sensible: more and more seldom. */
const FIRST_MS = 250
const SELDOM_MS = 5_000
/** Where changes are told, looking is only for the one that was not. */
const TOLD_MS = 15_000

/** The pause before the next look, after `looks` looks. */
export function pauseBeforeLook({ pollIntervalMs }: Task, looks: number, isTold: boolean): number {
  const wished = pollIntervalMs
    ? Math.min(Math.max(pollIntervalMs, SHORTEST_MS), LONGEST_MS)
    : Math.min(FIRST_MS * 1.5 ** Math.min(looks, 20), SELDOM_MS)
  return isTold ? Math.max(wished, TOLD_MS) : wished
}

/** The pause before the `n`th try in a row of what failed. */
export function pauseBeforeTry(n: number): number {
  return Math.min(FIRST_MS * 2 ** (n - 1), 10_000)
}

/** How often in a row a look may fail. With the pauses that is about half a minute. */
export const MAX_TRIES = 8

/** A server that shows answered questions for longer than this, in more looks than this, does not take answers. */
export const DEAF_MS = 60_000
export const DEAF_LOOKS = 5

/** How long one task may take: its own time, which the server says, and the patience of whoever follows it. */

export class TaskTime {
  readonly #patienceMs: number
  /** By this side's clock, from where the task was first seen: the server's clock may say anything. */
  readonly #beganAt = performance.now()

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs
  }

  leftMs(task: Task): number {
    return Math.min(this.#ownLeftMs(task), this.#patienceMs - this.#ageMs)
  }

  /** Whether the server may have removed the task. */
  isExpired(task: Task): boolean {
    return this.#ownLeftMs(task) <= 0
  }

  /** Why it is not followed any further. */
  overdue(task: Task): ClientError {
    if (this.isExpired(task)) {
      return new ClientError('TASK_EXPIRED', `The task did not end in its time (${seconds(task.ttlMs ?? 0)}).`)
    }
    const sentence = `The task has not ended after ${seconds(this.#patienceMs)}; it goes on, and nobody follows it.`
    return new ClientError('TASK_UNFINISHED', sentence)
  }

  get #ageMs(): number {
    return performance.now() - this.#beganAt
  }

  #ownLeftMs({ ttlMs }: Task): number {
    return (ttlMs ?? Number.POSITIVE_INFINITY) - this.#ageMs
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`
}
