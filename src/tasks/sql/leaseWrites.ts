/**
 * The writes of a run. Every statement checks the lease and locks the row of its task until the commit. So when another
 * worker claims the task, each write is either committed before and part of the journal, or refused.
 *
 * A write whose response was lost may be repeated.
 */
import type { NewQuestion, TaskEnd, TaskProgress } from '../engine.ts'
import { entryText, objectText, progressText } from '../entry.ts'
import { leaseLost, type LossReason, LOST_TOO_OFTEN } from '../errors.ts'
import type { ClaimedTask } from './claim.ts'
import type { SqlValue, Transaction } from './driver.ts'
import { askQuestions, questionTexts } from './questions.ts'
import { cachedText, keptUntil, notExpired, RELEASED, type TaskStore, touched } from './store.ts'
import { failTask } from './transitions.ts'

const PROGRESS = 'losses = 0, attempts = 0, alone = 0'

/** Each method that gives a boolean gives false where nothing was written: the lease is lost, or it was written before. */
export class LeaseWrites {
  readonly #store: TaskStore
  readonly #lease: ClaimedTask
  /** A condition on `tasks AS t`: the lease is held. $1 is the task and $2 the generation. */
  readonly #held: string
  #hasLosses: boolean

  constructor(store: TaskStore, lease: ClaimedTask) {
    this.#store = store
    this.#lease = lease
    this.#hasLosses = lease.hasLosses
    this.#held = cachedText(
      store.sql,
      'held',
      () => `t.number = CAST($1 AS bigint) AND t.generation = CAST($2 AS bigint) AND t.worker IS NOT NULL
        AND t.status = 'working' AND ${notExpired(store.sql)}`,
    )
  }

  /** Whether the task has lost workers since its last progress. */
  get hasLosses(): boolean {
    return this.#hasLosses
  }

  /** The first result stays. */
  async step(key: string, { value }: { readonly value?: unknown }): Promise<boolean> {
    const { sql } = this.#store
    const text = value === undefined ? null : this.#entry(`The result of the step "${key}"`, value)
    // FOR SHARE: steps of one run may be committed concurrently.
    const insert = cachedText(
      sql,
      'step',
      () => `INSERT INTO ${sql.steps} AS s (task, key, done, value)
        SELECT t.number, $3, 1, $4 FROM ${sql.tasks} AS t WHERE ${this.#held} ${sql.forShare}
        ON CONFLICT (task, key) DO UPDATE SET done = 1, value = excluded.value WHERE s.done = 0 RETURNING task`,
    )
    const values = [JSON.stringify(key), text]
    if (!this.#hasLosses) return this.#write(insert, values)
    const isNew = await this.#store.driver.transaction(async (tx) => {
      // The exclusive lock first: two steps that both upgrade a shared one would wait for each other.
      if ((await this.#losses(tx)) === undefined || (await tx.rows(insert, this.#values(values))).length === 0)
        return false
      return this.#update(tx, PROGRESS)
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
       SELECT t.number, $3, 0, $4 FROM ${tasks} AS t WHERE ${this.#held} ${forShare}
       ON CONFLICT (task, key) DO NOTHING RETURNING task`,
      values,
    )
    if (isNew) return 'fresh'
    const [row] = await this.#store.driver.read<{ attempt: string | null }>(
      `SELECT s.attempt FROM ${steps} AS s JOIN ${tasks} AS t ON t.number = s.task WHERE ${this.#held} AND s.key = $3`,
      this.#values([JSON.stringify(key)]),
    )
    return row !== undefined && (row.attempt === attempt ? 'fresh' : 'running')
  }

  unclaim(key: string): Promise<boolean> {
    const { steps, tasks, forShare } = this.#store.sql
    return this.#write(
      `DELETE FROM ${steps} WHERE key = $3 AND done = 0
         AND task IN (SELECT t.number FROM ${tasks} AS t WHERE ${this.#held} ${forShare}) RETURNING task`,
      [JSON.stringify(key)],
    )
  }

  note(message: string, progress: TaskProgress | undefined): Promise<boolean> {
    const { tasks } = this.#store.sql
    return this.#write(
      `UPDATE ${tasks} AS t SET message = $3, progress = $4, ${touched(this.#store.sql)}
       WHERE ${this.#held} AND (t.message IS DISTINCT FROM $3 OR t.progress IS DISTINCT FROM $4) RETURNING number`,
      [this.#entry('A status message', message), progressText(progress)],
    )
  }

  /** Whether the lease was held. */
  ask(questions: readonly NewQuestion[], own: unknown): Promise<boolean> {
    const { driver, sql } = this.#store
    const { task, address, toolKey } = this.#lease
    const prepared = questionTexts(this.#store, questions)
    const state = own === undefined ? null : this.#entry('The state of a handler', own)
    const waiting = prepared.length === 0 ? '' : `, status = 'input_required', ${touched(sql)}`
    return driver.transaction(async (tx) => {
      if (!(await this.#update(tx, `worker = NULL, ${PROGRESS}, round = round + 1 ${waiting}`))) return false
      await tx.rows(`UPDATE ${sql.calls} SET own = $2 WHERE task = CAST($1 AS bigint) AND own IS DISTINCT FROM $2`, [
        task,
        state,
      ])
      await askQuestions(tx, this.#store, task, prepared)
      if (prepared.length > 0) tx.emit({ kind: 'changed', task: address })
      else tx.emit({ kind: 'ready', task: address, tool: toolKey })
      return true
    })
  }

  /** Whether the lease was held. */
  end(end: TaskEnd): Promise<boolean> {
    const { sql, settings } = this.#store
    const { status, statusMessage } = end
    const [what, value] = status === 'completed' ? ['The result', end.result] : ['The failure', end.failure]
    const message = statusMessage === undefined ? null : this.#entry('A status message', statusMessage)
    const text = cachedText(
      sql,
      'end',
      () => `UPDATE ${sql.tasks} AS t SET ${RELEASED}, ${touched(sql)}, status = $3, message = $4, outcome = $5,
        expires_at = ${keptUntil(sql, '$6')} WHERE ${this.#held} RETURNING number`,
    )
    return this.#write(text, [status, message, objectText(what, value, settings.maxEntryBytes), settings.keepMs])
  }

  /** Whether the lease was held. */
  giveBack(): Promise<boolean> {
    const { driver } = this.#store
    const { address, toolKey } = this.#lease
    return driver.transaction(async (tx) => {
      if (!(await this.#update(tx, RELEASED))) return false
      tx.emit({ kind: 'ready', task: address, tool: toolKey })
      return true
    })
  }

  /** Releases a lease whose run returned without ending it. This counts as the loss of a worker. */
  abandon(): Promise<boolean> {
    const { driver, settings } = this.#store
    const { task, address, toolKey } = this.#lease
    return driver.transaction(async (tx) => {
      const losses = await this.#losses(tx)
      if (losses === undefined) return false
      if (losses >= settings.maxLosses) {
        await failTask(tx, this.#store, task, LOST_TOO_OFTEN)
        tx.emit({ kind: 'changed', task: address })
        return true
      }
      await this.#update(tx, `${RELEASED}, losses = losses + 1`)
      tx.emit({ kind: 'ready', task: address, tool: toolKey })
      return true
    })
  }

  /** The worker claims other tasks beside this one again. */
  async endAlone(): Promise<void> {
    const { sql } = this.#store
    const isHeld = await this.#write(`UPDATE ${sql.tasks} AS t SET alone = 0 WHERE ${this.#held} RETURNING number`, [])
    if (!isHeld) throw leaseLost('taken')
  }

  /** Undefined while the lease is held. */
  async lossReason(): Promise<LossReason | undefined> {
    const { driver, sql } = this.#store
    const [row] = await driver.read<{ status: string; is_held: number }>(
      `SELECT t.status, CASE WHEN ${this.#held} THEN 1 ELSE 0 END AS is_held
       FROM ${sql.tasks} AS t WHERE t.number = CAST($1 AS bigint) AND ${notExpired(sql)}`,
      this.#values([]),
    )
    if (row === undefined) return 'expired'
    if (row.is_held === 1) return undefined
    if (row.status === 'working') return 'taken'
    return row.status === 'cancelled' ? 'cancelled' : 'ended'
  }

  async #losses({ rows }: Transaction): Promise<number | undefined> {
    const { tasks, forUpdate } = this.#store.sql
    const text = `SELECT t.losses FROM ${tasks} AS t WHERE ${this.#held} ${forUpdate}`
    return (await rows<{ losses: number }>(text, this.#values([])))[0]?.losses
  }

  async #update({ rows }: Transaction, assignments: string): Promise<boolean> {
    const { tasks } = this.#store.sql
    const text = `UPDATE ${tasks} AS t SET ${assignments} WHERE ${this.#held} RETURNING number`
    return (await rows(text, this.#values([]))).length > 0
  }

  async #write(text: string, values: readonly SqlValue[]): Promise<boolean> {
    return (await this.#store.driver.write(text, this.#values(values))).length > 0
  }

  #values(values: readonly SqlValue[]): readonly SqlValue[] {
    return [this.#lease.task, this.#lease.generation, ...values]
  }

  #entry(what: string, value: unknown): string {
    return entryText(what, value, this.#store.settings.maxEntryBytes)
  }
}
