/**
 * The writes of a run. Every statement checks the lease and locks the row of its task until the commit. So when another
 * worker claims the task, each write is either committed before and part of the journal, or refused.
 */
import {
  approversText,
  entryText,
  type LossReason,
  type NewQuestion,
  objectText,
  progressText,
  type TaskEnd,
  type TaskProgress,
  textOrNull,
} from '../../tasks/internal.ts'
import { insertQuestions } from './questions.ts'
import { NOT_EXPIRED, type PostgresTaskStore, statements, transaction } from './store.ts'
import { keptUntil, RELEASED } from './transitions.ts'

export interface PostgresLeaseKey {
  readonly task: string
  readonly epoch: string
  readonly queue: string
  readonly job: string
  /** How many workers the task has lost since its last progress. */
  readonly losses: number
  /** How many processes it has lost in a row. */
  readonly crashes: number
  /** Whether its worker also runs others. */
  readonly shared: boolean
}

// A condition for WHERE: the lease is held. $1 is the task and $2 the epoch.
const HELD = `t.task = $1 AND t.epoch = $2 AND t.held AND t.status = 'working' AND ${NOT_EXPIRED}`

/** Each method gives false when the lease is lost, and has then changed nothing. */
export class LeaseWrites {
  readonly #store: PostgresTaskStore
  readonly #lease: PostgresLeaseKey
  readonly #tasks: string
  readonly #tables: string
  readonly #held: string
  #hasLosses: boolean
  #isShared: boolean

  constructor(store: PostgresTaskStore, lease: PostgresLeaseKey) {
    this.#store = store
    this.#lease = lease
    this.#hasLosses = lease.losses > 0 || lease.crashes > 0
    this.#isShared = lease.shared
    this.#tables = store.database.names.tables
    this.#tasks = `${this.#tables}.tasks AS t`
    // FOR SHARE: steps of one run may be committed concurrently.
    this.#held = `held AS (SELECT t.task FROM ${this.#tasks} WHERE ${HELD} FOR SHARE)`
  }

  /** Whether the task has lost workers since its last progress. */
  get hasLosses(): boolean {
    return this.#hasLosses
  }

  /** The first result stays: a write whose response was lost may be repeated. */
  async step(key: string, { value }: { readonly value?: unknown }): Promise<boolean> {
    const text = value === undefined ? null : this.#entry(`The result of the step "${key}"`, value)
    const values = [JSON.stringify(key), text]
    const insert = `INSERT INTO ${this.#tables}.steps (task, key, value) SELECT task, $3, $4 FROM held
       ON CONFLICT (task, key) DO NOTHING`
    if (this.#hasLosses) return this.#stepWithReset(insert, values)
    const rows = await this.#rows(`WITH ${this.#held}, written AS (${insert}) SELECT FROM held`, values)
    return rows.length > 0
  }

  /** A new step also resets the count of lost workers, so it locks the row exclusively. */
  async #stepWithReset(insert: string, values: unknown[]): Promise<boolean> {
    const [row] = await this.#rows<{ is_new: boolean }>(
      `WITH held AS (SELECT t.task FROM ${this.#tasks} WHERE ${HELD} FOR NO KEY UPDATE),
       written AS (${insert} RETURNING task),
       progress AS (UPDATE ${this.#tasks} SET losses = 0, crashes = 0, on_trial = false FROM written WHERE t.task = $1)
       SELECT EXISTS (SELECT FROM written) AS is_new FROM held`,
      values,
    )
    if (row?.is_new) this.#hasLosses = false
    return row !== undefined
  }

  /** `attempt` identifies a claim that is repeated because its response was lost. */
  async claim(key: string, attempt: string): Promise<'fresh' | 'running' | false> {
    const [row] = await this.#rows<{ attempt: string | null }>(
      `WITH ${this.#held}, written AS (
         INSERT INTO ${this.#tables}.claims (task, key, attempt) SELECT task, $3, $4::uuid FROM held
         ON CONFLICT (task, key) DO NOTHING RETURNING attempt
       ), claimed AS (SELECT attempt FROM ${this.#tables}.claims WHERE task = $1 AND key = $3)
       SELECT coalesce((SELECT attempt FROM written), (SELECT attempt FROM claimed)) AS attempt FROM held`,
      [JSON.stringify(key), attempt],
    )
    return row !== undefined && (row.attempt === attempt ? 'fresh' : 'running')
  }

  async unclaim(key: string): Promise<boolean> {
    const rows = await this.#rows(
      `WITH ${this.#held}, written AS (
         DELETE FROM ${this.#tables}.claims AS c USING held WHERE c.task = held.task AND c.key = $3
           AND NOT EXISTS (SELECT FROM ${this.#tables}.steps AS s WHERE s.task = c.task AND s.key = c.key)
       ) SELECT FROM held`,
      [JSON.stringify(key)],
    )
    return rows.length > 0
  }

  async note(message: string, progress: TaskProgress | undefined): Promise<boolean> {
    const isChanged = '(t.status_message IS DISTINCT FROM $3 OR t.progress IS DISTINCT FROM $4)'
    const rows = await this.#rows(
      `UPDATE ${this.#tasks} SET status_message = $3, progress = $4, version = t.version + ${isChanged}::integer,
         updated_at = CASE WHEN ${isChanged} THEN now() ELSE t.updated_at END
       WHERE ${HELD} RETURNING 1`,
      [this.#entry('A status message', message), progressText(progress)],
    )
    return rows.length > 0
  }

  ask(questions: readonly NewQuestion[], own: unknown): Promise<boolean> {
    const { task, epoch, queue, job } = this.#lease
    const prepared = questions.map(({ key, question, times, request, approvers }) => {
      return {
        key: JSON.stringify(key),
        question: textOrNull(question),
        times,
        request: this.#entry('A question', request),
        approvers: approversText(approvers),
      }
    })
    const state = own === undefined ? null : this.#entry('The state of a handler', own)
    const waiting = prepared.length > 0 && `, ${RELEASED}, status = 'input_required'`
    return transaction(this.#store, async (sql) => {
      const rows = await sql.rows(
        `UPDATE ${this.#tasks} SET own = $3, round = t.round + 1, losses = 0, crashes = 0, on_trial = false ${waiting || ', held = false'}
         WHERE ${HELD} RETURNING 1`,
        [task, epoch, state],
      )
      if (rows.length === 0) return false
      await insertQuestions(sql, this.#store, task, prepared)
      if (waiting) await this.#store.jobs.remove(sql, queue, [job])
      else await this.#store.jobs.postpone(sql, queue, job, 0)
      return true
    })
  }

  end(end: TaskEnd): Promise<boolean> {
    const { task, epoch, queue, job } = this.#lease
    const { maxEntryBytes } = this.#store.settings
    const result = end.status === 'completed' ? objectText('The result', end.result, maxEntryBytes) : null
    const failure = end.status === 'failed' ? objectText('The failure', end.failure, maxEntryBytes) : null
    return transaction(this.#store, async (sql) => {
      const rows = await sql.rows(
        `UPDATE ${this.#tasks} SET ${RELEASED}, status = $3, status_message = $4, result = $5, failure = $6,
           expires_at = ${keptUntil('$7')} WHERE ${HELD} RETURNING 1`,
        [task, epoch, end.status, textOrNull(end.statusMessage), result, failure, this.#store.settings.keepMs],
      )
      if (rows.length > 0) await this.#store.jobs.remove(sql, queue, [job])
      return rows.length > 0
    })
  }

  giveBack(): Promise<boolean> {
    const { task, epoch, queue, job } = this.#lease
    return transaction(this.#store, async (sql) => {
      const rows = await sql.rows(
        `UPDATE ${this.#tasks} SET held = false, on_trial = false WHERE ${HELD} RETURNING 1`,
        [task, epoch],
      )
      if (rows.length > 0) await this.#store.jobs.postpone(sql, queue, job, 0)
      return rows.length > 0
    })
  }

  async setOnTrial(isOnTrial: boolean): Promise<boolean> {
    const rows = await this.#rows(`UPDATE ${this.#tasks} SET on_trial = $3 WHERE ${HELD} RETURNING 1`, [isOnTrial])
    return rows.length > 0
  }

  /** Records once that the worker runs others, too, so that this task alone is not charged when it dies. */
  async markShared(): Promise<void> {
    if (this.#isShared) return
    await this.#rows(`UPDATE ${this.#tasks} SET shared = true WHERE ${HELD}`, [])
    this.#isShared = true
  }

  /** The job is the lease: a worker that claims the task replaces it by another job. */
  async renew(holdMs: number, timeoutMs: number): Promise<boolean> {
    const { queue, job } = this.#lease
    return this.#store.jobs.postpone(await this.#store.database.statements(timeoutMs), queue, job, holdMs)
  }

  /** Undefined while the lease is held. */
  async lossReason(): Promise<LossReason | undefined> {
    const [row] = await this.#rows<{ status: string; is_held: boolean }>(
      `SELECT t.status, t.epoch = $2 AND t.held AND t.status = 'working' AS is_held
       FROM ${this.#tasks} WHERE t.task = $1 AND ${NOT_EXPIRED}`,
      [],
    )
    if (row === undefined) return 'expired'
    if (row.is_held) return undefined
    return row.status === 'cancelled' ? 'cancelled' : 'taken'
  }

  async #rows<Row>(text: string, values: unknown[]): Promise<Row[]> {
    const { task, epoch } = this.#lease
    return (await statements(this.#store)).rows<Row>(text, [task, epoch, ...values])
  }

  #entry(what: string, value: unknown): string {
    return entryText(what, value, this.#store.settings.maxEntryBytes)
  }
}
