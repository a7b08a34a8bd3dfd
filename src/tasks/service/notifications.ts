/** `notifications/tasks`: sends a task, in the form of `tasks/get`, whenever it has changed. */
import { hash } from 'node:crypto'
import { type Json, runLater } from '../../protocol/index.ts'
import type { TaskHost, TaskListening } from '../../server/index.ts'
import type { TaskEngine } from '../engine.ts'
import { modernTask } from './modernDialect.ts'
import { type Viewer, viewOf } from './view.ts'

export interface TaskListenOptions {
  readonly owner: string
  readonly viewer: Viewer
  readonly host: Pick<TaskHost, 'mayAnswer'>
  readonly taskIds: readonly string[]
  readonly send: (task: Json) => void
  readonly pollMs: number
}

export async function listenToTasks(engine: TaskEngine, options: TaskListenOptions): Promise<TaskListening> {
  const taskIds = await engine.existing([...new Set(options.taskIds)], options.owner)
  const notifiers: TaskNotifier[] = []
  return {
    taskIds,
    begin: () => {
      notifiers.push(...taskIds.map((id) => new TaskNotifier(engine, id, options)))
      void notifyAll(notifiers)
    },
    stop: () => {
      for (const notifier of notifiers) notifier.stop()
    },
  }
}

/** Sends one after the other, with other work in between: there may be many tasks with large results. */
async function notifyAll(notifiers: readonly TaskNotifier[]): Promise<void> {
  for (const notifier of notifiers) {
    await notifier.notify()
    await new Promise<void>(runLater)
  }
}

/** Sends the changes of one task until it is stopped. Changes during a read are coalesced. */
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
      // The store is unavailable. The next change is sent, and clients can poll.
    } finally {
      this.#isSending = false
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#unwatch()
  }

  async #send(): Promise<void> {
    const { owner, viewer, host, pollMs, send } = this.#options
    const task = await this.#engine.read(this.#id, owner)
    if (task === undefined || this.#isStopped) return
    const message = modernTask(viewOf({ task, isOwner: true }, viewer, host), pollMs)
    // A digest instead of the text, which may be long and would stay in memory while the subscription lasts.
    const digest = hash('sha256', JSON.stringify(message))
    if (digest === this.#sentDigest) return
    this.#sentDigest = digest
    send(message)
  }
}
