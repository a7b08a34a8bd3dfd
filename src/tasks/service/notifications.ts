/** `notifications/tasks`: each change of a task, as `tasks/get` would tell it at that moment. */
import { hash } from 'node:crypto'
import type { Json } from '../../protocol/index.ts'
import type { TaskListening } from '../../server/index.ts'
import type { TaskEngine } from '../engine.ts'
import { modernTask } from './modernDialect.ts'

export interface TaskListenOptions {
  readonly owner: string
  readonly taskIds: readonly string[]
  readonly send: (task: Json) => void
  readonly pollMs: number
}

export async function listenToTasks(engine: TaskEngine, options: TaskListenOptions): Promise<TaskListening> {
  const wanted = [...new Set(options.taskIds)]
  const found = await Promise.all(wanted.map(async (id) => (await engine.read(id, options.owner)) !== undefined))
  const taskIds = wanted.filter((_, at) => found[at])
  const tellers: TaskNotifier[] = []
  return {
    taskIds,
    begin: () => {
      tellers.push(...taskIds.map((id) => new TaskNotifier(engine, id, options)))
      for (const teller of tellers) void teller.notify()
    },
    stop: () => {
      for (const teller of tellers) teller.stop()
    },
  }
}

/** Tells of one task until it is stopped. Changes that come while one is told are told together. */
class TaskNotifier {
  readonly #engine: TaskEngine
  readonly #id: string
  readonly #options: TaskListenOptions
  readonly #unwatch: () => void
  #sentDigest = ''
  #isSending = false
  #hasChanged = false
  #isStopped = false

  constructor(engine: TaskEngine, id: string, options: TaskListenOptions) {
    this.#engine = engine
    this.#id = id
    this.#options = options
    this.#unwatch = engine.watch(id, () => void this.notify())
  }

  async notify(): Promise<void> {
    this.#hasChanged = true
    if (this.#isSending) return
    this.#isSending = true
    try {
      while (this.#hasChanged && !this.#isStopped) {
        this.#hasChanged = false
        await this.#send()
      }
    } catch {
      // The store is away; the next change is told again, and clients may always look for themselves.
    } finally {
      this.#isSending = false
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#unwatch()
  }

  async #send(): Promise<void> {
    const { owner, pollMs, send } = this.#options
    const task = await this.#engine.read(this.#id, owner)
    if (task === undefined || this.#isStopped) return
    const told = modernTask(task, pollMs)
    // Not the text itself: it may be long, and it is kept for as long as somebody listens.
    const digest = hash('sha256', JSON.stringify(told))
    if (digest === this.#sentDigest) return
    this.#sentDigest = digest
    send(told)
  }
}
