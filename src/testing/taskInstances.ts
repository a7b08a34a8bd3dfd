/**
 * The instances of an exercise with tasks. They share one store in a file, as processes do, and each run of a task is
 * recorded. With `losesRuns`, each run is made twice, as when its process ends before the outcome is stored.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Middleware, Server, Tasks } from '../server/index.ts'
import { sqliteTasks } from '../tasks/index.ts'
import { type HandlerActivity, RecordedActivity, recordIn } from './recorder.ts'

export class TaskInstances {
  readonly #folder = mkdtempSync(join(tmpdir(), 'pannier-exercise-'))
  readonly #live = new Set<Server>()
  readonly #activities = new Map<string, RecordedActivity>()
  readonly #lost = new Map<string, HandlerActivity>()
  /** The tasks whose latest run was lost. */
  readonly #repeating = new Set<string>()
  #stores = 0
  #losesRuns = false

  /** For the next instance. */
  tasks(): Tasks {
    return sqliteTasks({ path: join(this.#folder, `${this.#stores}.db`) })
  }

  add(server: Server): void {
    server.use(this.#record)
    this.#live.add(server)
  }

  /** Stops all other instances, so that this one runs the tasks. Runs under way are given back to the queue. */
  async keepOnly(server?: Server): Promise<void> {
    const stopped = [...this.#live].filter((each) => each !== server)
    for (const each of stopped) this.#live.delete(each)
    await Promise.all(stopped.map((each) => each.drain({ deadlineMs: 0, idleMs: 0 })))
  }

  /** From now on there are other tasks. */
  async renewStore(losesRuns: boolean): Promise<void> {
    await this.keepOnly()
    this.#stores++
    this.#losesRuns = losesRuns
  }

  /** The instance that was made last. */
  get latest(): Server {
    return [...this.#live].at(-1) as Server
  }

  /** The activity of a task's runs since the last call. */
  takeActivity(id: string): HandlerActivity {
    const activity = this.#activities.get(id) ?? new RecordedActivity()
    this.#activities.delete(id)
    return activity
  }

  /** The record of the run whose outcome was lost; undefined before such a run. */
  takeLost(id: string): HandlerActivity | undefined {
    const lost = this.#lost.get(id)
    this.#lost.delete(id)
    return lost
  }

  async close(): Promise<void> {
    await this.keepOnly()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  readonly #record: Middleware = async ({ task }, next) => {
    if (task === undefined) return next()
    const activity = this.#activities.get(task) ?? new RecordedActivity()
    activity.ended = false
    this.#activities.set(task, activity)
    const running = recordIn(activity, next)
    if (!this.#losesRuns || this.#repeating.delete(task)) return running
    await running.catch(() => {})
    this.#repeating.add(task)
    this.#lost.set(task, activity)
    this.#activities.delete(task)
    return new Promise(() => {})
  }
}
