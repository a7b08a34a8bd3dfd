/**
 * The task engine over any database that has a driver. It creates its parts and connects them.
 *
 * A lease is three columns of a task: its worker, its generation and its end. All times are the database's.
 */
import { StateError } from '../../state/internal.ts'
import type {
  EngineHost,
  EngineSettings,
  NewTask,
  OpenQuestionQuery,
  OpenQuestionRecord,
  Page,
  TaskAnswers,
  TaskEngine,
  TaskRecord,
  Working,
  WorkOptions,
} from '../engine.ts'
import { pollInterval } from '../leaseTimes.ts'
import { createTask } from './create.ts'
import type { DriverListener, TaskDriver, TaskEvent } from './driver.ts'
import { FailureLog } from './failureLog.ts'
import { claimNotices, postponeNotice, removeNotice } from './questions/notices.ts'
import { Reclaim } from './reclaim.ts'
import { knownQuestion, openQuestions } from './questions/open.ts'
import { awaitingRef, existingTasks, listTasks, readTask, sameTask, taskRef } from './records.ts'
import type { TaskStore } from './store.ts'
import { answerTask, cancelTask, endUnanswered, sweep } from './transitions.ts'
import { Watchers } from './watch.ts'
import { Worker } from './worker.ts'

interface OpenParts {
  readonly store: TaskStore
  readonly log: FailureLog
  readonly watchers: Watchers
  readonly reclaim: Reclaim
  readonly sweeping: NodeJS.Timeout
}

/** The functions of an engine are own properties, so that a caller may copy it and replace some of them. */
class SqlEngine implements TaskEngine, DriverListener {
  readonly #openDriver: () => Promise<TaskDriver>
  readonly #settings: EngineSettings
  readonly #workers = new Set<Worker>()
  #open: OpenParts | undefined
  #ticking: NodeJS.Timeout | undefined
  #isTicking = false

  constructor(settings: EngineSettings, openDriver: () => Promise<TaskDriver>) {
    this.#settings = settings
    this.#openDriver = openDriver
  }

  readonly open = async ({ audience, logger, channels = [] }: EngineHost): Promise<void> => {
    const driver = await this.#openDriver()
    const store = { driver, sql: driver.sql, audience, channels, settings: this.#settings, logger }
    // Jitter, so that processes that were started together do not sweep at the same time.
    const sweepMs = driver.sweepMs * (0.75 + Math.random() / 2)
    this.#open = {
      store,
      log: new FailureLog(logger),
      watchers: new Watchers(store),
      reclaim: new Reclaim(store),
      sweeping: setInterval(() => void this.#sweep(), sweepMs).unref(),
    }
    await driver.listen(this)
  }

  readonly trouble = (): StateError | undefined => {
    return this.#open && (this.#open.store.driver.trouble() ?? this.#open.log.trouble)
  }

  readonly create = async (task: NewTask): Promise<TaskRecord> => {
    const { store } = this.#opened
    const trouble = this.trouble()
    // Any other failure may be temporary.
    if (trouble?.code === 'STORE_CORRUPT') throw trouble
    return createTask(store, task)
  }

  readonly read = async (id: string, owner: string): Promise<TaskRecord | undefined> => {
    const { store } = this.#opened
    return readTask(store, taskRef(store, id, owner))
  }

  readonly awaiting = async (id: string): Promise<TaskRecord | undefined> => {
    const { store } = this.#opened
    const ref = await awaitingRef(store, id)
    const task = ref && (await readTask(store, ref))
    return task && { ...task, statusMessage: undefined, progress: undefined }
  }

  readonly existing = async (ids: readonly string[], owner: string): Promise<string[]> => {
    return existingTasks(this.#opened.store, ids, owner)
  }

  readonly list = async (owner: string, after: string | undefined, limit: number): Promise<Page> => {
    return listTasks(this.#opened.store, owner, after, limit)
  }

  readonly answer = async (
    id: string,
    owner: string | undefined,
    answers: TaskAnswers,
  ): Promise<TaskRecord | undefined> => {
    const { store } = this.#opened
    const isOwner = owner !== undefined
    const ref = isOwner ? taskRef(store, id, owner) : await awaitingRef(store, id)
    return ref && answerTask(store, ref, { ...answers, isOwner })
  }

  readonly answerOne: TaskEngine['answerOne'] = async (id, owner, key, { response, by, way }) => {
    const { store } = this.#opened
    const isOwner = owner !== undefined
    const ref = isOwner ? taskRef(store, id, owner) : await awaitingRef(store, id)
    const accepted = new Map([[key, response]])
    let isStored = false
    const onStored = (stored: boolean): void => {
      isStored = stored
    }
    await (ref && answerTask(store, ref, { accepted, refused: new Set(), by, way, isOwner }, onStored))
    return isStored
  }

  readonly openQuestions = async (query: OpenQuestionQuery): Promise<readonly OpenQuestionRecord[]> => {
    return openQuestions(this.#opened.store, query)
  }

  readonly question: TaskEngine['question'] = async (id, key, owner) => {
    return knownQuestion(this.#opened.store, id, key, owner)
  }

  readonly notices: TaskEngine['notices'] = {
    claim: async (retryMs) => claimNotices(this.#opened.store, retryMs),
    remove: async (notice) => removeNotice(this.#opened.store, notice),
    postpone: async (notice, waitMs) => postponeNotice(this.#opened.store, notice, waitMs),
  }

  readonly sameCall = async (owner: string, same: string): Promise<TaskRecord | undefined> => {
    return sameTask(this.#opened.store, owner, same)
  }

  readonly forgetCall = async (id: string, owner: string): Promise<void> => {
    const { store } = this.#opened
    const { address, owner: ownerKey } = taskRef(store, id, owner)
    const text = `UPDATE ${store.sql.tasks} SET same_key = NULL WHERE address = $1 AND owner = $2 AND same_key IS NOT NULL`
    await store.driver.change(text, [address, ownerKey])
  }

  readonly cancel = async (id: string, owner: string): Promise<TaskRecord | undefined> => {
    const { store } = this.#opened
    return cancelTask(store, taskRef(store, id, owner))
  }

  readonly work = (options: WorkOptions): Working => {
    const { store, log } = this.#opened
    const worker = new Worker(store, options, { log, emit: (event) => this.onEmit(event) })
    this.#workers.add(worker)
    this.#adjust()
    void this.#tick()
    return worker
  }

  readonly watch = (id: string, listener: () => void): (() => void) => {
    const stop = this.#opened.watchers.watch(id, listener)
    this.#adjust()
    return () => {
      stop()
      this.#adjust()
    }
  }

  readonly close = async (): Promise<void> => {
    const closing = this.#open
    if (closing === undefined) return
    this.#open = undefined
    clearInterval(closing.sweeping)
    clearInterval(this.#ticking)
    closing.watchers.close()
    await Promise.all(Array.from(this.#workers, (worker) => worker.close()))
    closing.log.close()
    await closing.store.driver.close()
  }

  /** A task that a worker of this process will claim is not announced to other processes. */
  onEmit(event: TaskEvent): void {
    if (this.#open === undefined) return
    const { store, log } = this.#open
    const worker = 'tool' in event ? [...this.#workers].find((each) => each.reserveSlot(event.tool)) : undefined
    if (worker === undefined || log.trouble !== undefined) return store.driver.send(event)
    worker.onEvent(event)
    if ('task' in event) store.driver.send({ kind: 'changed', task: event.task })
  }

  onEvent(event: TaskEvent): void {
    if ('task' in event) this.#open?.watchers.notify(event.task)
    for (const worker of this.#workers) worker.onEvent(event)
  }

  onForeignWrite(): void {
    for (const worker of this.#workers) {
      worker.check()
      worker.poll()
    }
  }

  onGap(): void {
    this.#open?.watchers.notifyAll()
    this.onForeignWrite()
  }

  get #opened(): OpenParts {
    if (this.#open !== undefined) return this.#open
    throw new StateError('STORE_UNAVAILABLE', 'The task engine is not open; use it between open() and close().')
  }

  #adjust(): void {
    if (this.#open === undefined) return
    const { store, watchers } = this.#open
    store.driver.setActive(this.#workers.size > 0 || watchers.size > 0)
    if (this.#workers.size === 0) return
    const pollMs = Math.min(pollInterval(this.#settings.leaseMs), store.driver.pollMs)
    this.#ticking ??= setInterval(() => void this.#tick(), pollMs).unref()
  }

  async #tick(): Promise<void> {
    if (this.#isTicking || this.#open === undefined) return
    const { store, log, reclaim } = this.#open
    this.#isTicking = true
    await log.try('check the tables', () => checkTables(store))
    await log.try('reclaim tasks of lost workers', () => reclaim.run())
    this.#isTicking = false
    for (const worker of this.#workers) worker.poll()
  }

  async #sweep(): Promise<void> {
    const { store, log } = this.#opened
    await log.try('end tasks that were not answered', () => endUnanswered(store))
    await log.try('remove expired tasks', () => sweep(store))
  }
}

export function sqlEngine(settings: EngineSettings, openDriver: () => Promise<TaskDriver>): TaskEngine {
  return new SqlEngine(settings, openDriver)
}

/** Fails if a table is missing that a run needs. */
async function checkTables({ driver, sql }: TaskStore): Promise<void> {
  const trouble = driver.trouble()
  if (trouble !== undefined) throw trouble
  const { tasks, calls, steps, questions, addressees, notices } = sql
  const tables = [tasks, calls, steps, questions, addressees, notices].map((table) => `EXISTS (SELECT 1 FROM ${table})`)
  await driver.read(`SELECT ${tables.join(' OR ')} AS has_rows`)
}
