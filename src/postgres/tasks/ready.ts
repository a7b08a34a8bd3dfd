/**
 * Tasks that are ready and no suspects, chosen by caller: see `src/tasks/fairness.ts`. pg-boss fetches in one order for
 * all callers, so these tasks have no jobs and are chosen in our own table.
 */
import { fairShares, MAX_CALLERS, type WaitingCaller } from '../../tasks/internal.ts'
import type { Sql } from '../sql.ts'
import { NOT_EXPIRED, type PostgresTaskStore } from './store.ts'

/** A task that can be claimed. One that was never run has no job; one whose questions were answered has none either. */
export interface ReadyTask {
  readonly task: string
  readonly id: string | null
}

export interface PickedTasks {
  readonly picked: readonly ReadyTask[]
  /** Whether more tasks may be ready. */
  readonly isMore: boolean
}

// The condition of the partial indexes.
const UNSUSPECTED = "t.queue = $1 AND t.status = 'working' AND NOT t.held AND t.crashes = 0"
const FIRST = ''

/** Chooses what to run next from the queues of one worker. */
export class ReadyTasks {
  readonly #store: PostgresTaskStore
  /** By queue: the last caller that was looked at, where there are too many to look at all of them. */
  readonly #seen = new Map<string, string>()

  constructor(store: PostgresTaskStore) {
    this.#store = store
  }

  /** Locks the tasks to be run next. Those that another worker is claiming are passed over. */
  async pick(sql: Sql, queue: string, limit: number): Promise<PickedTasks> {
    const callers = await this.#callers(sql, queue, limit)
    const shares = fairShares(callers, limit)
    if (shares.size === 0) return { picked: [], isMore: false }
    const picked = await this.#lock(sql, queue, shares)
    const ready = callers.reduce((sum, caller) => sum + caller.ready, 0)
    // Of one caller no more are counted than there are slots.
    const isMore = picked.length === limit || ready > picked.length || this.#seen.has(queue)
    return { picked, isMore: picked.length > 0 && isMore }
  }

  /** Some callers with ready tasks, in the order of their digests, and from the second time on those that follow. */
  async #callers(sql: Sql, queue: string, limit: number): Promise<WaitingCaller[]> {
    const after = this.#seen.get(queue) ?? FIRST
    const callers = await this.#read(sql, `${this.#following} SELECT holder FROM following LIMIT ${MAX_CALLERS}`, [
      queue,
      limit,
      after,
    ])
    const last = callers.length === MAX_CALLERS ? callers.at(-1) : undefined
    if (last === undefined) this.#seen.delete(queue)
    else this.#seen.set(queue, last.holder)
    if (after === FIRST && last === undefined) return callers
    const oldest = await this.#read(sql, this.#oldest, [queue, limit])
    const known = new Set(callers.map(({ holder }) => holder))
    return [...callers, ...oldest.filter(({ holder }) => !known.has(holder))]
  }

  get #tasks(): string {
    return `${this.#store.database.names.tables}.tasks AS t`
  }

  /** Each caller is found by one look into the index, however many tasks the one before has. */
  get #following(): string {
    const next = (after: string) =>
      `SELECT t.holder FROM ${this.#tasks} WHERE ${UNSUSPECTED} AND t.holder > ${after} ORDER BY t.holder LIMIT 1`
    return `WITH RECURSIVE found AS (
        (${next("decode($3, 'hex')")})
        UNION ALL SELECT (${next('found.holder')}) FROM found WHERE found.holder IS NOT NULL
      ), following AS (SELECT holder FROM found WHERE holder IS NOT NULL)`
  }

  get #oldest(): string {
    return `SELECT DISTINCT holder FROM (
        SELECT t.holder FROM ${this.#tasks} WHERE ${UNSUSPECTED} ORDER BY t.task + 0 LIMIT ${MAX_CALLERS}
      ) AS oldest`
  }

  /** What is known of the callers that the statement `holders` gives; $1 is the queue and $2 how many tasks to count. */
  async #read(sql: Sql, holders: string, values: unknown[]): Promise<WaitingCaller[]> {
    const rows = await sql.rows<{ holder: string; oldest: string | null; ready: number; running: number }>(
      `SELECT encode(waiting.holder, 'hex') AS holder, ready.oldest, ready.ready, running.running FROM (${holders}) AS waiting,
       LATERAL (
         SELECT min(task) AS oldest, count(*)::integer AS ready FROM (
           SELECT t.task FROM ${this.#tasks}
           WHERE ${UNSUSPECTED} AND t.holder = waiting.holder AND ${NOT_EXPIRED} ORDER BY t.task LIMIT $2
         ) AS counted
       ) AS ready,
       LATERAL (
         SELECT count(*)::integer AS running FROM ${this.#tasks}
         WHERE t.holder = waiting.holder AND t.held AND t.status = 'working'
       ) AS running
       ORDER BY waiting.holder`,
      values,
    )
    return rows.map(({ holder, oldest, ready, running }) => ({ holder, ready, running, oldest: Number(oldest) }))
  }

  #lock(sql: Sql, queue: string, shares: ReadonlyMap<string, number>): Promise<ReadyTask[]> {
    return sql.rows<ReadyTask>(
      `SELECT chosen.id, chosen.task
       FROM unnest($2::text[], $3::integer[]) AS wanted (holder, share),
       LATERAL (
         SELECT t.job AS id, t.task FROM ${this.#tasks}
         WHERE ${UNSUSPECTED} AND t.holder = decode(wanted.holder, 'hex') AND ${NOT_EXPIRED}
         ORDER BY t.task LIMIT wanted.share FOR UPDATE SKIP LOCKED
       ) AS chosen`,
      [queue, [...shares.keys()], [...shares.values()]],
    )
  }
}
