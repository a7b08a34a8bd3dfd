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
  type DeskOptions,
  type EngineHost,
  type EngineOptions,
  type EngineSettings,
  engineSettings,
  type NewTask,
  type Page,
  type TaskEngine,
  type TaskRecord,
  tasksOn,
  type Working,
  type WorkOptions,
} from '../../tasks/internal.ts'
import { type Database, databaseOf, type PostgresConnection } from '../database.ts'
import type { BellListener } from '../notifier.ts'
import { createTask } from './create.ts'
import { type News, newsName, readNews, writeNews } from './events.ts'
import { answerTask, cancelTask, type Change } from './questions.ts'
import { Jobs } from './queue.ts'
import { listTasks, readTask } from './records.ts'
import { addressOf, nameOf, ownerOf, type Store } from './store.ts'
import { sweepOften } from './sweep.ts'
import { Watching } from './watch.ts'
import { Work } from './worker.ts'

export type PostgresTasksOptions = DeskOptions & EngineOptions

/** Tasks in PostgreSQL, for any number of machines. A dead machine's tasks are taken over by the others. */
export function postgresTasks(connection: PostgresConnection, options: PostgresTasksOptions = {}): Tasks {
  return tasksOn(postgresEngine(connection, options), options)
}

/** A task engine on a database that others may use, too. Closing it leaves the connection open. */
export function postgresEngine(connection: PostgresConnection, options: EngineOptions = {}): TaskEngine {
  return new PostgresEngine(databaseOf(connection), engineSettings(options))
}

interface Open {
  readonly store: Store
  readonly watching: Watching
  readonly stopSweeping: () => void
}

class PostgresEngine implements TaskEngine, BellListener {
  readonly #database: Database
  readonly #settings: EngineSettings
  readonly #works = new Set<Work>()
  #open: Open | undefined

  constructor(database: Database, settings: EngineSettings) {
    this.#database = database
    this.#settings = settings
  }

  async open({ audience, logger }: EngineHost): Promise<void> {
    const database = this.#database
    const jobs = await Jobs.start(database, audience, logger)
    const store: Store = { database, jobs, audience, logger, settings: this.#settings }
    this.#open = { store, watching: new Watching(store), stopSweeping: sweepOften(store) }
    await database.bell.join(this)
  }

  async create(task: NewTask): Promise<TaskRecord> {
    const { task: made, queue } = await createTask(this.#store, task)
    if (queue !== undefined) this.#tell({ kind: 'made', queue })
    return made
  }

  async read(id: string, owner: string): Promise<TaskRecord | undefined> {
    const store = this.#store
    return readTask(await store.database.statements(), store, nameOf(store, id, owner))
  }

  async list(owner: string, after: string | undefined, limit: number): Promise<Page> {
    const store = this.#store
    const from = after === undefined ? undefined : addressOf(store, after)
    return listTasks(await store.database.statements(), store, { owner: ownerOf(store, owner), after: from, limit })
  }

  async answer(id: string, owner: string, answers: Answers): Promise<TaskRecord | undefined> {
    const store = this.#store
    const change = await answerTask(store, nameOf(store, id, owner), answers)
    if (change?.isChanged) this.#tell(newsOf(newsName(store, id), change))
    return change?.task
  }

  async cancel(id: string, owner: string): Promise<TaskRecord | undefined> {
    const store = this.#store
    const change = await cancelTask(store, nameOf(store, id, owner))
    if (change?.isChanged) this.#tell({ kind: 'over', task: newsName(store, id) })
    return change?.task
  }

  work(options: WorkOptions): Working {
    const work = new Work(this.#store, options, (news) => this.#tell(news))
    this.#works.add(work)
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
    await Promise.all(Array.from(this.#works, (work) => work.close()))
    await this.#database.bell.leave(this)
    await open.store.jobs.stop()
  }

  heard(message: string): void {
    const news = readNews(message)
    if (news === undefined) return
    if ('task' in news) this.#open?.watching.changed(news.task)
    for (const work of this.#works) work.hear(news)
  }

  missed(): void {
    this.#open?.watching.missed()
    for (const work of this.#works) {
      work.checkAll()
      work.look()
    }
  }

  get #opened(): Open {
    if (this.#open !== undefined) return this.#open
    throw new StateError('STORE_UNAVAILABLE', 'The task engine is not open; it is used between open() and close().')
  }

  get #store(): Store {
    return this.#opened.store
  }

  /** What a worker at home sees to wakes no other process. */
  #tell(news: News): void {
    const worker = 'queue' in news ? [...this.#works].find((work) => work.expect(news.queue)) : undefined
    if (worker === undefined) return this.#database.bell.ring(writeNews(news))
    worker.hear(news)
    if ('task' in news) this.#database.bell.ring(writeNews({ kind: 'changed', task: news.task }))
  }
}

function newsOf(task: string, { queue }: Change): News {
  return queue === undefined ? { kind: 'changed', task } : { kind: 'ready', task, queue }
}
