/** `notifications/tasks`: each change of a task, as `tasks/get` would tell it at that moment. */
import { hash } from 'node:crypto'
import type { Json } from '../../protocol/index.ts'
import type { TaskListening } from '../../server/index.ts'
import type { TaskEngine } from '../engine.ts'
import { modernTask } from './modernDialect.ts'

export interface ListenOptions {
  readonly owner: string
  readonly taskIds: readonly string[]
  readonly send: (task: Json) => void
  readonly pollMs: number
}

export async function listenToTasks(engine: TaskEngine, options: ListenOptions): Promise<TaskListening> {
  const wanted = [...new Set(options.taskIds)]
  const found = await Promise.all(wanted.map(async (id) => (await engine.read(id, options.owner)) !== undefined))
  const taskIds = wanted.filter((_, at) => found[at])
  const tellers: Teller[] = []
  return {
    taskIds,
    begin: () => {
      tellers.push(...taskIds.map((id) => new Teller(engine, id, options)))
      for (const teller of tellers) void teller.tell()
    },
    stop: () => {
      for (const teller of tellers) teller.stop()
    },
  }
}

/** Tells of one task until it is stopped. Changes that come while one is told are told together. */
class Teller {
  readonly #engine: TaskEngine
  readonly #id: string
  readonly #options: ListenOptions
  readonly #leave: () => void
  #told = ''
  #telling = false
  #again = false
  #stopped = false

  constructor(engine: TaskEngine, id: string, options: ListenOptions) {
    this.#engine = engine
    this.#id = id
    this.#options = options
    this.#leave = engine.watch(id, () => void this.tell())
  }

  async tell(): Promise<void> {
    this.#again = true
    if (this.#telling) return
    this.#telling = true
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false
        await this.#tellNow()
      }
    } catch {
      // The store is away; the next change is told again, and clients may always look for themselves.
    } finally {
      this.#telling = false
    }
  }

  stop(): void {
    this.#stopped = true
    this.#leave()
  }

  async #tellNow(): Promise<void> {
    const { owner, pollMs, send } = this.#options
    const task = await this.#engine.read(this.#id, owner)
    if (task === undefined || this.#stopped) return
    const told = modernTask(task, pollMs)
    // Not the text itself: it may be long, and it is kept for as long as somebody listens.
    const digest = hash('sha256', JSON.stringify(told))
    if (digest === this.#told) return
    this.#told = digest
    send(told)
  }
}
