/**
 * The task engine in PostgreSQL, for any number of machines.
 *
 * Tasks, questions, steps and claims are in our own tables, the queues in those of pg-boss; both change in the same
 * transactions. All times are the database's, so the clocks of the machines do not matter.
 */
import { assertOptionNames, optionsNamed } from '../../protocol/index.ts'
import type { Tasks } from '../../server/index.ts'
import { StateError } from '../../state/internal.ts'
import {
  ENGINE_OPTIONS,
  SERVICE_OPTIONS,
  type TaskAnswers,
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
import { decodeEvent, type EngineEvent, encodeEvent, taskKey } from './events.ts'
import { answerTask } from './questions.ts'
import { JobQueues } from './queue.ts'
import { awaitingRef, existingTasks, listTasks, readTask } from './records.ts'
import { addressDigest, ownerDigest, type PostgresTaskStore, statements, taskRef } from './store.ts'
import { startSweeping } from './sweep.ts'
import { cancelTask, type TaskChange } from './transitions.ts'
import { PostgresWatchers } from './watch.ts'
import { PostgresWorker } from './worker.ts'

export type PostgresTasksOptions = TaskServiceOptions & EngineOptions

/** Tasks in PostgreSQL, for any number of machines. Other machines reclaim the tasks of one that dies. */
export function postgresTasks(connection: PostgresConnection, options: PostgresTasksOptions = {}): Tasks {
  assertOptionNames(options, { ...ENGINE_OPTIONS, ...SERVICE_OPTIONS }, 'postgresTasks')
  const engine = postgresEngine(connection, optionsNamed<EngineOptions>(options, ENGINE_OPTIONS))
  return createTasks(engine, optionsNamed<TaskServiceOptions>(options, SERVICE_OPTIONS))
}

/** A task engine on a connection that can be shared. Closing the engine leaves the connection open. */
export function postgresEngine(connection: PostgresConnection, options: EngineOptions = {}): TaskEngine {
  assertOptionNames(options, ENGINE_OPTIONS, 'postgresEngine')
  return new PostgresEngine(databaseOf(connection), engineSettings(options))
}

interface OpenEngine {
  readonly store: PostgresTaskStore
  readonly watchers: PostgresWatchers
  readonly stopSweeping: () => void
}

class PostgresEngine implements TaskEngine, NotificationListener {
  readonly #database: Database
  readonly #settings: EngineSettings
  readonly #workers = new Set<PostgresWorker>()
  #open: OpenEngine | undefined

  constructor(database: Database, settings: EngineSettings) {
    this.#database = database
    this.#settings = settings
  }

  async open({ audience, logger }: EngineHost): Promise<void> {
    const database = this.#database
    const jobs = await JobQueues.start(database, audience, logger)
    const store: PostgresTaskStore = { database, jobs, audience, logger, settings: this.#settings }
    this.#open = { store, watchers: new PostgresWatchers(store), stopSweeping: startSweeping(store) }
    await database.notifier.subscribe(this)
  }

  async create(task: NewTask): Promise<TaskRecord> {
    const { task: created, queue } = await createTask(this.#store, task)
    if (queue !== undefined) this.#notify({ kind: 'created', queue })
    return created
  }

  async read(id: string, owner: string): Promise<TaskRecord | undefined> {
    const store = this.#store
    return readTask(await statements(store), store, taskRef(store, id, owner))
  }

  async awaiting(id: string): Promise<TaskRecord | undefined> {
    const store = this.#store
    const ref = await awaitingRef(await statements(store), store, id)
    const task = ref && (await readTask(await statements(store), store, ref))
    return task && { ...task, statusMessage: undefined, progress: undefined }
  }

  async existing(ids: readonly string[], owner: string): Promise<string[]> {
    const store = this.#store
    return existingTasks(await statements(store), store, ids, ownerDigest(store, owner))
  }

  async list(owner: string, after: string | undefined, limit: number): Promise<Page> {
    const store = this.#store
    const from = after === undefined ? undefined : addressDigest(store, after)
    return listTasks(await statements(store), store, { owner: ownerDigest(store, owner), after: from, limit })
  }

  async answer(id: string, owner: string | undefined, answers: TaskAnswers): Promise<TaskRecord | undefined> {
    const store = this.#store
    const isOwner = owner !== undefined
    const ref = isOwner ? taskRef(store, id, owner) : await awaitingRef(await statements(store), store, id)
    const change = ref && (await answerTask(store, ref, answers, isOwner))
    if (change?.isChanged) this.#notify(eventOf(taskKey(store, id), change))
    return change?.task
  }

  async cancel(id: string, owner: string): Promise<TaskRecord | undefined> {
    const store = this.#store
    const change = await cancelTask(store, taskRef(store, id, owner))
    if (change?.isChanged) this.#notify({ kind: 'cancelled', task: taskKey(store, id) })
    return change?.task
  }

  work(options: WorkOptions): Working {
    const worker = new PostgresWorker(this.#store, options, (event) => this.#notify(event))
    this.#workers.add(worker)
    return worker
  }

  watch(id: string, listener: () => void): () => void {
    return this.#opened.watchers.watch(id, listener)
  }

  async close(): Promise<void> {
    const open = this.#open
    if (open === undefined) return
    this.#open = undefined
    open.stopSweeping()
    open.watchers.close()
    await Promise.all(Array.from(this.#workers, (worker) => worker.close()))
    await this.#database.notifier.unsubscribe(this)
    await open.store.jobs.stop()
  }

  onNotification(message: string): void {
    const event = decodeEvent(message)
    if (event === undefined) return
    if ('task' in event) this.#open?.watchers.notify(event.task)
    for (const worker of this.#workers) worker.onEvent(event)
  }

  onGap(): void {
    this.#open?.watchers.notifyAll()
    for (const worker of this.#workers) {
      worker.checkAll()
      worker.poll()
    }
  }

  get #opened(): OpenEngine {
    if (this.#open !== undefined) return this.#open
    throw new StateError('STORE_UNAVAILABLE', 'The task engine is not open; use it between open() and close().')
  }

  get #store(): PostgresTaskStore {
    return this.#opened.store
  }

  /** A task that a worker of this process will claim wakes no other process. */
  #notify(event: EngineEvent): void {
    const worker = 'queue' in event ? [...this.#workers].find((each) => each.reserveSlot(event.queue)) : undefined
    if (worker === undefined) return this.#database.notifier.notify(encodeEvent(event))
    worker.onEvent(event)
    if ('task' in event) this.#database.notifier.notify(encodeEvent({ kind: 'changed', task: event.task }))
  }
}

function eventOf(task: string, { queue }: TaskChange): EngineEvent {
  return queue === undefined ? { kind: 'changed', task } : { kind: 'ready', task, queue }
}
