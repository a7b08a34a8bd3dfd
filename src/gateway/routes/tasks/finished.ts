/**
 * Results of calls that a session-era client made as tasks and that a stateless-era server answered at once. In the
 * stateless era the server decides on tasks, in the session era the client. The results are kept for a while as
 * completed tasks.
 */
import { randomUUID } from 'node:crypto'
import { type Json, ProtocolError, unref } from '../../../protocol/index.ts'
import type { Call } from '../../../server/internal.ts'
import { Quota } from '../../../state/quota/index.ts'
import { callerOf } from '../../links/callers.ts'
import { resultForm, sessionForm } from './forms.ts'
import type { TaskSource } from './source.ts'

interface FinishedTask {
  readonly caller: string
  readonly result: Json
  readonly endedAt: string
}

export interface FinishedLimits {
  readonly ttlMs: number
  readonly maxCharsOfCaller: number
  readonly maxChars: number
}

const LIMITS: FinishedLimits = { ttlMs: 300_000, maxCharsOfCaller: 32 * 1024 * 1024, maxChars: 128 * 1024 * 1024 }
/** The size of an entry beside its characters. */
const ENTRY_CHARS = 1000

export class FinishedTasks implements TaskSource {
  readonly #limits: FinishedLimits
  readonly #tasks = new Map<string, FinishedTask>()
  readonly #quota: Quota<string>

  constructor(limits: FinishedLimits = LIMITS) {
    this.#limits = limits
    const { maxChars, maxCharsOfCaller } = limits
    const evict = (id: string): void => void this.#tasks.delete(id)
    this.#quota = new Quota({ all: { chars: maxChars }, caller: { chars: maxCharsOfCaller }, evict })
  }

  has(id: string): boolean {
    return this.#tasks.has(id)
  }

  /**
   * Keeps a result as a task, and returns that task in the form of the extension. `quotaCaller`: the caller whose quota it
   * counts in.
   */
  keep(result: Json, call: Call, quotaCaller: string): Json {
    const id = randomUUID()
    this.#tasks.set(id, { caller: callerOf(call), result, endedAt: new Date().toISOString() })
    this.#quota.put(id, { caller: quotaCaller, chars: JSON.stringify(result).length + ENTRY_CHARS })
    unref(setTimeout(() => this.#drop(id), this.#limits.ttlMs))
    return this.#task(call, id)
  }

  async status(call: Call, id: string): Promise<Json> {
    return sessionForm(this.#task(call, id))
  }

  async whole(call: Call, id: string): Promise<Json> {
    return this.#task(call, id)
  }

  async result(call: Call, id: string, exposed: string): Promise<Json> {
    return resultForm(this.#find(call, id).result, exposed)
  }

  async answer(): Promise<void> {}

  async cancel(): Promise<void> {}

  #task(call: Call, id: string): Json {
    const { endedAt, result } = this.#find(call, id)
    const { ttlMs } = this.#limits
    return { taskId: id, status: 'completed', createdAt: endedAt, lastUpdatedAt: endedAt, ttlMs, result }
  }

  #find(call: Call, id: string): FinishedTask {
    const task = this.#tasks.get(id)
    if (task?.caller === callerOf(call)) return task
    throw new ProtocolError('PARAMS_INVALID', 'There is no task with this id, or it has expired.')
  }

  #drop(id: string): void {
    this.#tasks.delete(id)
    this.#quota.delete(id)
  }
}
