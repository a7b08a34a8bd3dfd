/** The task engine in a SQLite file, for all processes of one machine. */
import { assertOptionNames, type OptionNames, optionsNamed } from '../../protocol/index.ts'
import type { Tasks } from '../../server/index.ts'
import { StateError } from '../../state/internal.ts'
import {
  type TaskAnswers,
  ENGINE_OPTIONS,
  type EngineOptions,
  engineSettings,
  type NewTask,
  type Page,
  type TaskEngine,
  type TaskRecord,
  type Working,
  type WorkOptions,
} from '../engine.ts'
import { createTasks, SERVICE_OPTIONS, type TaskServiceOptions } from '../service/service.ts'
import { FailureLog } from './failureLog.ts'
import { Heartbeat } from './heartbeat.ts'
import { Tables } from './rows/tables.ts'
import { openTaskFile } from './schema.ts'
import type { SqliteTaskStore } from './store.ts'
import { Sweep } from './sweep.ts'
import { EngineTimers, type TimerHandlers } from './timers.ts'
import { SqliteWatchers } from './watch.ts'
import { SqliteWorker } from './worker.ts'
import { WriteQueue } from './writeQueue.ts'

export interface SqliteEngineOptions extends EngineOptions {
  /** The file; it is created if it does not exist. `:memory:` is for tests. */
  path: string
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
}

export type SqliteTasksOptions = TaskServiceOptions & SqliteEngineOptions

const SQLITE_OPTIONS: OptionNames<SqliteEngineOptions> = { ...ENGINE_OPTIONS, path: true, clock: true }

/**
 * Tasks in one file, for all processes of one machine. They survive every process: unfinished tasks continue when a
 * server starts, and when another process dies.
 */
export function sqliteTasks(options: SqliteTasksOptions): Tasks {
  assertOptionNames(options, { ...SQLITE_OPTIONS, ...SERVICE_OPTIONS }, 'sqliteTasks')
  if (typeof options.path !== 'string')
    throw new TypeError('sqliteTasks needs the path of a file: { path: "tasks.db" }.')
  const engine = sqliteEngine(optionsNamed<SqliteEngineOptions>(options, SQLITE_OPTIONS))
  return createTasks(engine, optionsNamed<TaskServiceOptions>(options, SERVICE_OPTIONS))
}

/**
 * A task engine in a file. A write waits up to 5 s for the lock of another process, without blocking the event loop. A
 * process that is suspended during a write keeps the lock until it continues or is killed.
 */
export function sqliteEngine(given: SqliteEngineOptions): TaskEngine {
  assertOptionNames(given, SQLITE_OPTIONS, 'sqliteEngine')
  const { path, clock = Date.now, ...options } = given
  const settings = engineSettings(options)
  let opened: SqliteEngine | undefined

  function engine(): SqliteEngine {
    if (opened !== undefined) return opened
    throw new StateError('STORE_UNAVAILABLE', 'The task engine is not open; use it between open() and close().')
  }

  return {
    async open({ audience, logger }) {
      const now = () => Math.floor(clock())
      const database = openTaskFile(path)
      try {
        opened = new SqliteEngine({ database, audience: JSON.stringify(audience), settings, now, logger })
      } catch (error) {
        database.close()
        throw error
      }
    },
    create: async (task) => engine().create(task),
    read: async (id, owner) => engine().read(id, owner),
    awaiting: async (id) => engine().awaiting(id),
    existing: async (ids, owner) => engine().existing(ids, owner),
    list: async (owner, after, limit) => engine().list(owner, after, limit),
    answer: async (id, owner, answers) => engine().answer(id, owner, answers),
    cancel: async (id, owner) => engine().cancel(id, owner),
    work: (options) => engine().work(options),
    watch: (id, listener) => engine().watch(id, listener),
    async close() {
      const closing = opened
      opened = undefined
      await closing?.close()
    },
  }
}

/** An engine with an open file. It creates its parts and connects them. */
class SqliteEngine implements TimerHandlers {
  readonly #store: SqliteTaskStore
  readonly #tables: Tables
  readonly #log: FailureLog
  readonly #heartbeat: Heartbeat
  readonly #worker: SqliteWorker
  readonly #watchers: SqliteWatchers
  readonly #sweep: Sweep
  readonly #timers: EngineTimers

  constructor(given: Omit<SqliteTaskStore, 'writes'>) {
    const writes = new WriteQueue(given.database, { onCommit: () => this.#notifyWatchers() })
    this.#store = { ...given, writes }
    this.#tables = new Tables(this.#store)
    this.#log = new FailureLog(given.logger)
    this.#heartbeat = new Heartbeat(this.#tables, {
      onLost: () => this.#worker.loseAll('taken'),
      onReady: () => this.#worker.claim(),
    })
    this.#worker = new SqliteWorker(this.#tables, this.#heartbeat, this.#log)
    this.#watchers = new SqliteWatchers(this.#store, this.#tables.changes)
    this.#sweep = new Sweep(this.#store)
    this.#timers = new EngineTimers(this.#store, this.#log, this)
  }

  async create(task: NewTask): Promise<TaskRecord> {
    const { newTasks, records } = this.#tables
    const prepared = newTasks.prepare(task)
    return this.#store.writes.write(() => {
      newTasks.assertAllowed(task)
      const created = newTasks.add(prepared) ?? newTasks.replaceExpired(prepared)
      if (created === undefined) return records.get(newTasks.createdBy(task))
      this.#worker.claim()
      return created
    })
  }

  read(id: string, owner: string): TaskRecord | undefined {
    return this.#tables.records.read(id, owner)
  }

  awaiting(id: string): TaskRecord | undefined {
    return this.#tables.records.awaiting(id)
  }

  existing(ids: readonly string[], owner: string): string[] {
    return this.#tables.records.existing(ids, owner)
  }

  list(owner: string, after: string | undefined, limit: number): Page {
    return this.#tables.records.list(owner, after, limit)
  }

  async answer(id: string, owner: string | undefined, answers: TaskAnswers): Promise<TaskRecord | undefined> {
    return this.#change(id, owner, (task) => {
      const open = this.#tables.questions.answer(task, answers, owner !== undefined)
      if (open === undefined) return
      this.#tables.transitions.setStatus(task, open === 0 ? 'working' : 'input_required')
      if (open === 0) this.#worker.claim()
    })
  }

  async cancel(id: string, owner: string): Promise<TaskRecord | undefined> {
    let cancelled: number | undefined
    const task = await this.#change(id, owner, (number) => {
      const status = this.#tables.leases.statusOf(number)
      cancelled = status === 'working' || status === 'input_required' ? number : undefined
      if (cancelled !== undefined) this.#tables.transitions.cancel(number)
    })
    if (cancelled !== undefined) this.#worker.lose(cancelled, 'cancelled')
    return task
  }

  work(options: WorkOptions): Working {
    if (this.#heartbeat.workerId === undefined) {
      void this.#log.tryAsync('send the heartbeat', () => this.#heartbeat.register())
      void this.#log.tryAsync('reclaim tasks of dead workers', async () => {
        await this.#heartbeat.observe()
        await this.#heartbeat.reclaim()
      })
      this.#timers.adjust()
    }
    return this.#worker.work(options)
  }

  watch(id: string, listener: () => void): () => void {
    const stop = this.#watchers.watch(id, listener)
    this.#timers.adjust()
    return () => {
      stop()
      this.#timers.adjust()
    }
  }

  async close(): Promise<void> {
    this.#timers.stop()
    this.#worker.close()
    const left = this.#log.tryAsync('remove the worker', () => this.#heartbeat.unregister())
    await Promise.all([this.#store.writes.close(), left])
    this.#log.close()
    this.#store.database.close()
  }

  isActive(): boolean {
    return this.#heartbeat.workerId !== undefined || this.#watchers.size > 0
  }

  async onForeignWrite(): Promise<void> {
    this.#worker.check()
    this.#worker.wake()
    this.#notifyWatchers()
    if (this.#heartbeat.workerId !== undefined) await this.#heartbeat.observe()
  }

  expire(): void {
    this.#worker.expire()
  }

  reclaim(): Promise<void> {
    if (this.#heartbeat.workerId === undefined) return Promise.resolve()
    // No write announces that the pause of a suspect is over.
    this.#worker.wake()
    return this.#heartbeat.reclaim()
  }

  beat(): Promise<void> {
    return this.#heartbeat.beat()
  }

  sweep(): Promise<void> {
    return this.#sweep.run()
  }

  /** Changes a task of this owner, or one that waits for somebody else, if it exists, and gives it as it is afterwards. */
  async #change(id: string, owner: string | undefined, run: (task: number) => void): Promise<TaskRecord | undefined> {
    const { records } = this.#tables
    if (records.numberOf(id, owner) === undefined) return undefined
    return this.#store.writes.write(() => {
      const task = records.numberOf(id, owner)
      if (task === undefined) return undefined
      run(task)
      return records.get(task)
    })
  }

  #notifyWatchers(): void {
    this.#log.try('notify watchers', () => this.#watchers.poll())
  }
}
