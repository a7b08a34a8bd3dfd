/** When a task is polled, when a failed request is tried again, and when the waiting ends. Decides, and does nothing. */
import { backoffMs, DAY_MS } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import type { Task } from './task.ts'

/** The bounds for the interval that a server wishes. */
const MIN_POLL_MS = 100
const MAX_POLL_MS = 3_600_000
/** Without an interval from the server, the pauses grow. */
const GROWING_POLL = { firstMs: 250, maxMs: 5_000, factor: 1.5 }

/** The pause before the next poll, after `polls` polls. */
export function pauseBeforePoll({ pollIntervalMs }: Task, polls: number): number {
  return pollIntervalMs
    ? Math.min(Math.max(pollIntervalMs, MIN_POLL_MS), MAX_POLL_MS)
    : backoffMs(polls + 1, GROWING_POLL)
}

/** The pause before retry number `attempt` of a request that failed. */
export function pauseBeforeRetry(attempt: number): number {
  return backoffMs(attempt, { firstMs: 250, maxMs: 10_000 })
}

/** How often a request is tried before it counts as failed. With the pauses that takes about half a minute. */
export const MAX_TRIES = 8

/** A server that still shows answered questions after this time and after this many polls does not take answers. */
export const STALE_MS = 60_000
export const STALE_POLLS = 5

/** How long a task is followed by default. */
export const PATIENCE_MS = DAY_MS

/** How long one task may take: its time to live, which the server sets, and the patience of its caller. */
export class TaskDeadline {
  readonly #patienceMs: number
  /** When the client first saw the task, by the local clock: the server's clock may be wrong. */
  readonly #beganAt = performance.now()

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs
  }

  leftMs(task: Task): number {
    return Math.min(this.#ttlLeftMs(task), this.#patienceMs - this.#ageMs)
  }

  /** Whether the server may have removed the task. */
  isExpired(task: Task): boolean {
    return this.#ttlLeftMs(task) <= 0
  }

  /** The error where the task is not followed any longer. */
  overdue(task: Task): ClientError {
    if (this.isExpired(task)) {
      return new ClientError('TASK_EXPIRED', `The task did not end in its time (${seconds(task.ttlMs ?? 0)}).`)
    }
    const sentence = `The task has not ended after ${seconds(this.#patienceMs)}; it continues unobserved.`
    return new ClientError('TASK_UNFINISHED', sentence)
  }

  get #ageMs(): number {
    return performance.now() - this.#beganAt
  }

  #ttlLeftMs({ ttlMs }: Task): number {
    return (ttlMs ?? Number.POSITIVE_INFINITY) - this.#ageMs
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`
}
