/** How long one task may take: its own time, which the server says, and the patience of whoever follows it. */
import { ClientError } from '../errors.ts'
import type { Task } from './task.ts'

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
