/**
 * Results of calls that a session-era client made as tasks, and that a server of the stateless era answered at once: there
 * the server decides, in the session era the client. They are kept for a while as tasks that are completed.
 */
import { randomUUID } from 'node:crypto'
import { isObject, type Json, ProtocolError, relatedTask, unref } from '../../../protocol/index.ts'
import type { Call } from '../../../server/internal.ts'
import { callerOf } from '../../backends/callers.ts'
import { sessionForm } from './forms.ts'
import type { TaskSource } from './source.ts'

interface FinishedTask {
  readonly caller: string
  /** For whom it is counted: one who calls may have many sessions. */
  readonly holder: string
  readonly chars: number
  readonly result: Json
  readonly endedAt: string
}

export interface FinishedLimits {
  readonly ttlMs: number
  readonly maxCharsOfCaller: number
  readonly maxChars: number
}

const LIMITS: FinishedLimits = { ttlMs: 300_000, maxCharsOfCaller: 32 * 1024 * 1024, maxChars: 128 * 1024 * 1024 }
/** What a small result costs beside its characters. */
const ENTRY_CHARS = 1000

export class FinishedTasks implements TaskSource {
  readonly #limits: FinishedLimits
  /** The oldest first. */
  readonly #tasks = new Map<string, FinishedTask>()
  readonly #charsOf = new Map<string, number>()
  #chars = 0

  constructor(limits: FinishedLimits = LIMITS) {
    this.#limits = limits
  }

  has(id: string): boolean {
    return this.#tasks.has(id)
  }

  /** Keeps a result as a task, and gives that task in the form of the extension. */
  keep(result: Json, call: Call, holder: string): Json {
    const id = randomUUID()
    const caller = callerOf(call)
    const chars = JSON.stringify(result).length + ENTRY_CHARS
    this.#tasks.set(id, { caller, holder, chars, result, endedAt: new Date().toISOString() })
    this.#count(holder, chars)
    while ((this.#charsOf.get(holder) ?? 0) > this.#limits.maxCharsOfCaller) this.#dropOldest(holder)
    while (this.#chars > this.#limits.maxChars) this.#dropOldest(this.#largestHolder())
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
    const { resultType: _type, _meta: meta, ...rest } = this.#find(call, id).result
    return { ...rest, _meta: { ...(isObject(meta) ? meta : {}), ...relatedTask(exposed) } }
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

  #count(holder: string, chars: number): void {
    const held = (this.#charsOf.get(holder) ?? 0) + chars
    this.#chars += chars
    if (held > 0) this.#charsOf.set(holder, held)
    else this.#charsOf.delete(holder)
  }

  #drop(id: string): void {
    const task = this.#tasks.get(id)
    if (task === undefined) return
    this.#tasks.delete(id)
    this.#count(task.holder, -task.chars)
  }

  #dropOldest(holder: string): void {
    for (const [id, task] of this.#tasks) if (task.holder === holder) return this.#drop(id)
  }

  #largestHolder(): string {
    return [...this.#charsOf].reduce((largest, each) => (each[1] > largest[1] ? each : largest))[0]
  }
}
