/**
 * Tasks in PostgreSQL, for any number of machines.
 *
 * Task rows, questions, steps and claims are ours; the queues are pg-boss's; both change in the same transactions. All
 * times are the database's: what a machine's clock says does not matter.
 */
import type { Tasks } from '../../server/index.ts'
import { StateError } from '../../state/internal.ts'
import {
  type Answers,
  type TaskServiceOptions,
  type EngineHost,
  type EngineOptions,
  type EngineSettings,
  engineSettings,
  type NewTask,
  type Page,
  type TaskEngine,
  type TaskRecord,
  createTasks,
  type Working,
  type WorkOptions,
} from '../../tasks/internal.ts'
import { type Database, databaseOf, type PostgresConnection } from '../database.ts'
import type { NotificationListener } from '../notifier.ts'
import { createTask } from './create.ts'
import { type EngineEvent, taskKey, decodeEvent, encodeEvent } from './events.ts'
import { answerTask, cancelTask, type Change } from './questions.ts'
import { JobQueues } from './queue.ts'
import { listTasks, readTask } from './records.ts'
import { addressDigest, taskRef, ownerDigest, type PostgresTaskStore } from './store.ts'
import { sweepOften } from './sweep.ts'
import { PostgresWatchers } from './watch.ts'
import { PostgresWorker } from './worker.ts'

export type PostgresTasksOptions = TaskServiceOptions & EngineOptions

/** Tasks in PostgreSQL, for any number of machines. A dead machine's tasks are taken over by the others. */
export function postgresTasks(connection: PostgresConnection, options: PostgresTasksOptions = {}): Tasks {
  return createTasks(postgresEngine(connection, options), options)
}

/** A task engine on a database that others may use, too. Closing it leaves the connection open. */
export function postgresEngine(connection: PostgresConnection, options: EngineOptions = {}): TaskEngine {
  return new PostgresEngine(databaseOf(connection), engineSettings(options))
}

interface Open {
  readonly store: PostgresTaskStore
  readonly watching: PostgresWatchers
  readonly stopSweeping: () => void
}

class PostgresEngine implements TaskEngine, NotificationListener {
  readonly #database: Database
  readonly #settings: EngineSettings
  readonly #workers = new Set<PostgresWorker>()
  #open: Open | undefined

  constructor(database: Database, settings: EngineSettings) {
    this.#database = database
    this.#settings = settings
  }

  async open({ audience, logger }: EngineHost): Promise<void> {
    const database = this.#database
    const jobs = await JobQueues.start(database, audience, logger)
    const store: PostgresTaskStore = { database, jobs, audience, logger, settings: this.#settings }
    this.#open = { store, watching: new PostgresWatchers(store), stopSweeping: sweepOften(store) }
    await database.notifier.subscribe(this)
  }

  async create(task: NewTask): Promise<TaskRecord> {
    const { task: made, queue } = await createTask(this.#store, task)
    if (queue !== undefined) this.#notify({ kind: 'made', queue })
    return made
  }

  async read(id: string, owner: string): Promise<TaskRecord | undefined> {
    const store = this.#store
    return readTask(await store.database.statements(), store, taskRef(store, id, owner))
  }

  async list(owner: string, after: string | undefined, limit: number): Promise<Page> {
    const store = this.#store
    const from = after === undefined ? undefined : addressDigest(store, after)
    return listTasks(await store.database.statements(), store, { owner: ownerDigest(store, owner), after: from, limit })
  }

  async answer(id: string, owner: string, answers: Answers): Promise<TaskRecord | undefined> {
    const store = this.#store
    const change = await answerTask(store, taskRef(store, id, owner), answers)
    if (change?.isChanged) this.#notify(eventOf(taskKey(store, id), change))
    return change?.task
  }

  async cancel(id: string, owner: string): Promise<TaskRecord | undefined> {
    const store = this.#store
    const change = await cancelTask(store, taskRef(store, id, owner))
    if (change?.isChanged) this.#notify({ kind: 'over', task: taskKey(store, id) })
    return change?.task
  }

  work(options: WorkOptions): Working {
    const work = new PostgresWorker(this.#store, options, (news) => this.#notify(news))
    this.#workers.add(work)
    return work
  }

  watch(id: string, listener: () => void): () => void {
    return this.#opened.watching.watch(id, listener)
  }

  async close(): Promise<void> {
    const open = this.#open
    if (open === undefined) return
    this.#open = undefined
    open.stopSweeping()
    open.watching.close()
    await Promise.all(Array.from(this.#workers, (work) => work.close()))
    await this.#database.notifier.unsubscribe(this)
    await open.store.jobs.stop()
  }

  onNotification(message: string): void {
    const news = decodeEvent(message)
    if (news === undefined) return
    if ('task' in news) this.#open?.watching.notify(news.task)
    for (const work of this.#workers) work.onEvent(news)
  }

  onGap(): void {
    this.#open?.watching.notifyAll()
    for (const work of this.#workers) {
      work.checkAll()
      work.poll()
    }
  }

  get #opened(): Open {
    if (this.#open !== undefined) return this.#open
    throw new StateError('STORE_UNAVAILABLE', 'The task engine is not open; it is used between open() and close().')
  }

  get #store(): PostgresTaskStore {
    return this.#opened.store
  }

  /** What a worker at home sees to wakes no other process. */
  #notify(news: EngineEvent): void {
    const worker = 'queue' in news ? [...this.#workers].find((work) => work.reserveSlot(news.queue)) : undefined
    if (worker === undefined) return this.#database.notifier.notify(encodeEvent(news))
    worker.onEvent(news)
    if ('task' in news) this.#database.notifier.notify(encodeEvent({ kind: 'changed', task: news.task }))
  }
}

function eventOf(task: string, { queue }: Change): EngineEvent {
  return queue === undefined ? { kind: 'changed', task } : { kind: 'ready', task, queue }
}
