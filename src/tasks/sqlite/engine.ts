/** Tasks in a SQLite file, for all processes of one machine. */
import type { Tasks } from '../../server/index.ts'
import { StateError } from '../../state/internal.ts'
import {
  type Answers,
  type EngineOptions,
  engineSettings,
  type NewTask,
  type Page,
  type TaskEngine,
  type TaskRecord,
  type Working,
  type WorkOptions,
} from '../engine.ts'
import { type DeskOptions, tasksOn } from '../service/service.ts'
import { Calm } from './failureLog.ts'
import { Presence } from './heartbeat.ts'
import { Tables } from './rows/tables.ts'
import { openTaskFile } from './schema.ts'
import type { Store } from './store.ts'
import { Sweep } from './sweep.ts'
import { Pulse, type PulseWork } from './timers.ts'
import { Watchers } from './watch.ts'
import { Runs } from './worker.ts'
import { Commits } from './writeQueue.ts'

export interface SqliteEngineOptions extends EngineOptions {
  /** The file; it is made when there is none. `:memory:` is for tests. */
  path: string
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
}

export type SqliteTasksOptions = DeskOptions & SqliteEngineOptions

/**
 * Tasks in one file, for all processes of one machine. They survive every process: what was unfinished is taken up when
 * a server starts, and when another one dies.
 */
export function sqliteTasks(options: SqliteTasksOptions): Tasks {
  return tasksOn(sqliteEngine(options), options)
}

/**
 * Calls are synchronous inside and may wait up to 5 s for other processes. A process that is stopped in the middle of a
 * write keeps the file's lock until it goes on or is killed, as with every SQLite file.
 */
export function sqliteEngine({ path, clock = Date.now, ...options }: SqliteEngineOptions): TaskEngine {
  const settings = engineSettings(options)
  let opened: OpenEngine | undefined

  function engine(): OpenEngine {
    if (opened !== undefined) return opened
    throw new StateError('STORE_UNAVAILABLE', 'The task store is not open; open it first, and close it last.')
  }

  return {
    async open({ audience, logger }) {
      const now = () => Math.floor(clock())
      const database = openTaskFile(path)
      try {
        opened = new OpenEngine({ database, audience: JSON.stringify(audience), settings, now, logger })
      } catch (error) {
        database.close()
        throw error
      }
    },
    create: async (task) => engine().create(task),
    read: async (id, owner) => engine().read(id, owner),
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

/** An engine over an open file: puts the parts together and tells each what the others have done. */

class OpenEngine implements PulseWork {
  readonly #store: Store
  readonly #tables: Tables
  readonly #calm: Calm
  readonly #presence: Presence
  readonly #runs: Runs
  readonly #watchers: Watchers
  readonly #sweep: Sweep
  readonly #pulse: Pulse

  constructor(given: Omit<Store, 'commits'>) {
    const commits = new Commits(given.database, () => this.#tellWatchers())
    this.#store = { ...given, commits }
    this.#tables = new Tables(this.#store)
    this.#calm = new Calm(given.logger)
    this.#presence = new Presence(this.#tables, {
      onLost: () => this.#runs.loseAll('taken'),
      onReady: () => this.#runs.take(),
    })
    this.#runs = new Runs(this.#tables, this.#presence, this.#calm)
    this.#watchers = new Watchers(this.#store, this.#tables.changes)
    this.#sweep = new Sweep(this.#store)
    this.#pulse = new Pulse(this.#store, this.#calm, this)
  }

  async create(task: NewTask): Promise<TaskRecord> {
    const { newTasks, tasks } = this.#tables
    const prepared = newTasks.prepare(task)
    return this.#store.commits.write(() => {
      const made = newTasks.add(prepared) ?? newTasks.addAnew(prepared)
      if (made === undefined) return tasks.get(newTasks.madeBy(task))
      this.#runs.take()
      return made
    })
  }

  read(id: string, owner: string): TaskRecord | undefined {
    return this.#tables.tasks.read(id, owner)
  }

  list(owner: string, after: string | undefined, limit: number): Page {
    return this.#tables.tasks.list(owner, after, limit)
  }

  async answer(id: string, owner: string, answers: Answers): Promise<TaskRecord | undefined> {
    return this.#change(id, owner, (task) => {
      const open = this.#tables.asks.answer(task, answers)
      if (open === undefined) return
      this.#tables.transitions.turn(task, open === 0 ? 'working' : 'input_required')
      if (open === 0) this.#runs.take()
    })
  }

  async cancel(id: string, owner: string): Promise<TaskRecord | undefined> {
    let cancelled: number | undefined
    const task = await this.#change(id, owner, (number) => {
      const status = this.#tables.leases.statusOf(number)
      cancelled = status === 'working' || status === 'input_required' ? number : undefined
      if (cancelled !== undefined) this.#tables.transitions.cancel(number)
    })
    if (cancelled !== undefined) this.#runs.lose(cancelled, 'cancelled')
    return task
  }

  work(options: WorkOptions): Working {
    if (this.#presence.id === undefined) {
      void this.#calm.tryLater('show that this worker lives', () => this.#presence.join())
      void this.#calm.tryLater('look after other workers', async () => {
        await this.#presence.look()
        await this.#presence.bury()
      })
      this.#pulse.adjust()
    }
    return this.#runs.work(options)
  }

  watch(id: string, listener: () => void): () => void {
    const stop = this.#watchers.watch(id, listener)
    this.#pulse.adjust()
    return () => {
      stop()
      this.#pulse.adjust()
    }
  }

  async close(): Promise<void> {
    this.#pulse.stop()
    this.#runs.close()
    const left = this.#calm.tryLater('leave', () => this.#presence.leave())
    this.#store.commits.close()
    await left
    this.#calm.end()
    this.#store.database.close()
  }

  isNeeded(): boolean {
    return this.#presence.id !== undefined || this.#watchers.size > 0
  }

  async onForeignWrite(): Promise<void> {
    this.#runs.check()
    this.#runs.wake()
    this.#tellWatchers()
    if (this.#presence.id !== undefined) await this.#presence.look()
  }

  onTime(): void {
    this.#runs.expire()
  }

  async bury(): Promise<void> {
    if (this.#presence.id !== undefined) await this.#presence.bury()
  }

  beat(): Promise<void> {
    return this.#presence.beat()
  }

  sweep(): Promise<void> {
    return this.#sweep.run()
  }

  /** Changes a task of this owner, if there is one, and gives it as it is afterwards. */
  async #change(id: string, owner: string, run: (task: number) => void): Promise<TaskRecord | undefined> {
    const { tasks } = this.#tables
    if (tasks.numberOf(id, owner) === undefined) return undefined
    return this.#store.commits.write(() => {
      const task = tasks.numberOf(id, owner)
      if (task === undefined) return undefined
      run(task)
      return tasks.get(task)
    })
  }

  #tellWatchers(): void {
    this.#calm.try('tell of changes', () => this.#watchers.look())
  }
}
