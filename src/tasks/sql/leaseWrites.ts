/**
 * The writes of a run. Every statement checks the lease and locks the row of its task until the commit. So when another
 * worker claims the task, each write is either already committed and part of the journal, or refused.
 *
 * A write whose response was lost may be repeated.
 */
import type { NewQuestion, TaskEnd, TaskProgress } from '../engine.ts'
import { entryText, objectText, progressText } from '../entry.ts'
import { leaseLost, type LossReason, LOST_TOO_OFTEN } from '../errors.ts'
import type { ClaimedTask } from './claim.ts'
import { change, emit, query, type SqlValue, type Transaction } from './driver.ts'
import { askQuestions, questionTexts } from './questions/rows.ts'
import { keptUntil, notExpired, RELEASED, statement, type TaskStore, touched } from './store.ts'
import { failTask } from './transitions.ts'

const PROGRESS = 'losses = 0, attempts = 0, alone = 0'

/** A condition on `tasks AS t`: the lease is valid. $1 is the task and $2 the generation. */
function held({ sql }: TaskStore): string {
  return `t.number = CAST($1 AS bigint) AND t.generation = CAST($2 AS bigint) AND t.worker IS NOT NULL
    AND t.status = 'working' AND ${notExpired(sql)}`
}

/** Changes the row of a task whose lease is valid. */
function updateText(store: TaskStore, assignments: string, condition = ''): string {
  return `UPDATE ${store.sql.tasks} AS t SET ${assignments} WHERE ${held(store)} ${condition}`
}

// FOR SHARE: steps of one run may be committed concurrently.
const ADD_STEP = statement(
  (store) => `INSERT INTO ${store.sql.steps} AS s (task, key, done, value)
    SELECT t.number, $3, 1, $4 FROM ${store.sql.tasks} AS t WHERE ${held(store)} ${store.sql.forShare}
    ON CONFLICT (task, key) DO UPDATE SET done = 1, value = excluded.value WHERE s.done = 0`,
)

const END = statement((store) => {
  const ended = `status = $3, message = $4, outcome = $5, expires_at = ${keptUntil(store.sql, '$6')}`
  return updateText(store, `${RELEASED}, ${touched(store.sql)}, ${ended}`)
})

/**
 * Methods that return a boolean return false if nothing was written: the lease is lost, or the same was written before.
 */
export class LeaseWrites {
  readonly #store: TaskStore
  readonly #lease: ClaimedTask
  #hasLosses: boolean

  constructor(store: TaskStore, lease: ClaimedTask) {
    this.#store = store
    this.#lease = lease
    this.#hasLosses = lease.hasLosses
  }

  /** Whether the task has lost workers since its last progress. */
  get hasLosses(): boolean {
    return this.#hasLosses
  }

  /** Stores the result of a step. The first result counts. */
  step(key: string, { value }: { readonly value?: unknown }): Promise<boolean> {
    const text = value === undefined ? null : this.#entry(`The result of the step "${key}"`, value)
    const values = [JSON.stringify(key), text]
    return this.#hasLosses ? this.#firstStep(values) : this.#write(ADD_STEP(this.#store), values)
  }

  /** Stores a step of a task that has lost workers, and records the progress. */
  async #firstStep(values: readonly SqlValue[]): Promise<boolean> {
    const isNew = await this.#transaction(function* (writes) {
      // Takes the exclusive lock first: two steps that both upgrade a shared lock would deadlock.
      if ((yield* writes.#losses()) === undefined) return false
      const added = yield* change(ADD_STEP(writes.#store), writes.#values(values))
      return added > 0 && (yield* writes.#update(PROGRESS))
    })
    if (isNew) this.#hasLosses = false
    return isNew
  }

  /** `attempt` identifies a claim that is repeated because its response was lost. */
  async claim(key: string, attempt: string): Promise<'fresh' | 'running' | false> {
    const { steps, tasks, forShare } = this.#store.sql
    const values = [JSON.stringify(key), attempt]
    const isNew = await this.#write(
      `INSERT INTO ${steps} (task, key, done, attempt)
       SELECT t.number, $3, 0, $4 FROM ${tasks} AS t WHERE ${held(this.#store)} ${forShare}
       ON CONFLICT (task, key) DO NOTHING`,
      values,
    )
    if (isNew) return 'fresh'
    const [row] = await this.#store.driver.read<{ attempt: string | null }>(
      `SELECT s.attempt FROM ${steps} AS s JOIN ${tasks} AS t ON t.number = s.task
       WHERE ${held(this.#store)} AND s.key = $3`,
      this.#values([JSON.stringify(key)]),
    )
    return row !== undefined && (row.attempt === attempt ? 'fresh' : 'running')
  }

  unclaim(key: string): Promise<boolean> {
    const { steps, tasks, forShare } = this.#store.sql
    return this.#write(
      `DELETE FROM ${steps} WHERE key = $3 AND done = 0
         AND task IN (SELECT t.number FROM ${tasks} AS t WHERE ${held(this.#store)} ${forShare})`,
      [JSON.stringify(key)],
    )
  }

  note(message: string, progress: TaskProgress | undefined): Promise<boolean> {
    const isNew = 'AND (t.message IS DISTINCT FROM $3 OR t.progress IS DISTINCT FROM $4)'
    return this.#write(updateText(this.#store, `message = $3, progress = $4, ${touched(this.#store.sql)}`, isNew), [
      this.#entry('A status message', message),
      progressText(progress),
    ])
  }

  /** Returns whether the lease was valid. */
  ask(questions: readonly NewQuestion[], own: unknown): Promise<boolean> {
    const store = this.#store
    const { task, address, toolKey } = this.#lease
    const prepared = questionTexts(store, questions)
    const state = own === undefined ? null : this.#entry('The state of a handler', own)
    const waiting = prepared.length === 0 ? '' : `, status = 'input_required', ${touched(store.sql)}`
    return this.#transaction(function* (writes) {
      if (!(yield* writes.#update(`worker = NULL, ${PROGRESS}, round = round + 1 ${waiting}`))) return false
      yield* change(
        `UPDATE ${store.sql.calls} SET own = $2 WHERE task = CAST($1 AS bigint) AND own IS DISTINCT FROM $2`,
        [task, state],
      )
      yield* askQuestions(store, task, prepared)
      yield* emit(
        prepared.length > 0 ? { kind: 'changed', task: address } : { kind: 'ready', task: address, tool: toolKey },
      )
      return true
    })
  }

  /** Returns whether the lease was valid. */
  end(end: TaskEnd): Promise<boolean> {
    const { settings } = this.#store
    const { status, statusMessage } = end
    const [what, value] = status === 'completed' ? ['The result', end.result] : ['The failure', end.failure]
    const message = statusMessage === undefined ? null : this.#entry('A status message', statusMessage)
    const outcome = objectText(what, value, settings.maxEntryBytes)
    return this.#write(END(this.#store), [status, message, outcome, settings.keepMs])
  }

  /** Returns whether the lease was valid. */
  giveBack(): Promise<boolean> {
    const { address, toolKey } = this.#lease
    return this.#transaction(function* (writes) {
      if (!(yield* writes.#update(RELEASED))) return false
      yield* emit({ kind: 'ready', task: address, tool: toolKey })
      return true
    })
  }

  /** Releases a lease whose run returned without ending it. This counts as the loss of a worker. */
  abandon(): Promise<boolean> {
    const store = this.#store
    const { task, address, toolKey } = this.#lease
    return this.#transaction(function* (writes) {
      const losses = yield* writes.#losses()
      if (losses === undefined) return false
      if (losses >= store.settings.maxLosses) {
        yield* failTask(store, task, LOST_TOO_OFTEN)
        yield* emit({ kind: 'changed', task: address })
        return true
      }
      yield* writes.#update(`${RELEASED}, losses = losses + 1`)
      yield* emit({ kind: 'ready', task: address, tool: toolKey })
      return true
    })
  }

  /** Records that the suspect has run for long enough, so that the worker claims other tasks beside it. */
  async endAlone(): Promise<void> {
    if (!(await this.#write(updateText(this.#store, 'alone = 0'), []))) throw leaseLost('taken')
  }

  /** The reason why the lease is lost; undefined while it is valid. */
  async lossReason(): Promise<LossReason | undefined> {
    const { driver, sql } = this.#store
    const [row] = await driver.read<{ status: string; is_held: number }>(
      `SELECT t.status, CASE WHEN ${held(this.#store)} THEN 1 ELSE 0 END AS is_held
       FROM ${sql.tasks} AS t WHERE t.number = CAST($1 AS bigint) AND ${notExpired(sql)}`,
      this.#values([]),
    )
    if (row === undefined) return 'expired'
    if (row.is_held === 1) return undefined
    if (row.status === 'working') return 'taken'
    return row.status === 'cancelled' ? 'cancelled' : 'ended'
  }

  #transaction<Result>(run: (writes: LeaseWrites) => Transaction<Result>): Promise<Result> {
    return this.#store.driver.transaction(() => run(this))
  }

  *#losses(): Transaction<number | undefined> {
    const { tasks, forUpdate } = this.#store.sql
    const text = `SELECT t.losses FROM ${tasks} AS t WHERE ${held(this.#store)} ${forUpdate}`
    return (yield* query<{ losses: number }>(text, this.#values([])))[0]?.losses
  }

  *#update(assignments: string): Transaction<boolean> {
    return (yield* change(updateText(this.#store, assignments), this.#values([]))) > 0
  }

  async #write(text: string, values: readonly SqlValue[]): Promise<boolean> {
    return (await this.#store.driver.change(text, this.#values(values))) > 0
  }

  #values(values: readonly SqlValue[]): readonly SqlValue[] {
    return [this.#lease.task, this.#lease.generation, ...values]
  }

  #entry(what: string, value: unknown): string {
    return entryText(what, value, this.#store.settings.maxEntryBytes)
  }
}
