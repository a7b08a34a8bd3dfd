/** Tasks that are ready and no suspects, chosen by caller: see `fairness.ts`. */
import { fairShares, MAX_CALLERS, type WaitingCaller } from '../fairness.ts'
import type { RunStatement } from './driver.ts'
import { notExpired, READY, SUSPECT, type TaskStore } from './store.ts'

const FIRST = ''

export interface PickedCallers {
  /** How many tasks of each caller are run next, by the caller's key. */
  readonly shares: ReadonlyMap<string, number>
  /** Whether more tasks may be ready. */
  readonly isMore: boolean
}

/** Those of the tools that have tasks to run. */
export async function readyTools({ driver, sql }: TaskStore, tools: readonly string[]): Promise<string[]> {
  const found = `SELECT 1 FROM ${sql.tasks} AS t WHERE t.tool_key = each.value AND ${notExpired(sql)}`
  const rows = await driver.read<{ value: string }>(
    `SELECT value FROM ${sql.each('$1')}
     WHERE EXISTS (${found} AND ${READY}) OR EXISTS (${found} AND ${SUSPECT} AND t.retry_at <= ${sql.now})`,
    [tools],
  )
  return rows.map(({ value }) => value)
}

/** Chooses whose tasks one worker runs next. */
export class ReadyTasks {
  readonly #store: TaskStore
  /** By tool: the last caller that was looked at, where there are too many to look at all of them. */
  readonly #seen = new Map<string, string>()

  constructor(store: TaskStore) {
    this.#store = store
  }

  async pick(rows: RunStatement, tool: string, slots: number): Promise<PickedCallers> {
    const callers = await this.#callers(rows, tool, slots)
    const shares = fairShares(callers, slots)
    const picked = [...shares.values()].reduce((sum, share) => sum + share, 0)
    const ready = callers.reduce((sum, caller) => sum + caller.ready, 0)
    // Of one caller no more are counted than there are slots.
    const isMore = picked > 0 && (picked === slots || ready > picked || this.#seen.has(tool))
    return { shares, isMore }
  }

  /** Some callers with ready tasks, in the order of their keys, and from the second time on those that follow. */
  async #callers(rows: RunStatement, tool: string, slots: number): Promise<WaitingCaller[]> {
    const after = this.#seen.get(tool) ?? FIRST
    const callers = await this.#read(rows, this.#following, [tool, slots, after])
    const last = callers.length === MAX_CALLERS ? callers.at(-1) : undefined
    if (last === undefined) this.#seen.delete(tool)
    else this.#seen.set(tool, last.holder)
    if (after === FIRST && last === undefined) return callers
    const oldest = await this.#read(rows, this.#oldest, [tool, slots])
    const known = new Set(callers.map(({ holder }) => holder))
    return [...callers, ...oldest.filter(({ holder }) => !known.has(holder))]
  }

  get #tasks(): string {
    return `${this.#store.sql.tasks} AS t`
  }

  /** Each caller is found by one look into the index, however many tasks the one before has. */
  get #following(): string {
    const next = (after: string) =>
      `(SELECT t.holder FROM ${this.#tasks} WHERE t.tool_key = $1 AND ${READY} AND t.holder > ${after}
        ORDER BY t.holder LIMIT 1)`
    return `WITH RECURSIVE found (holder, place) AS (
        SELECT ${next('$3')}, 1
        UNION ALL SELECT ${next('found.holder')}, found.place + 1 FROM found
        WHERE found.holder IS NOT NULL AND found.place < ${MAX_CALLERS}
      ) SELECT holder FROM found WHERE holder IS NOT NULL`
  }

  // `+ 0` is in the index, which no other statement uses.
  get #oldest(): string {
    return `SELECT DISTINCT holder FROM (
        SELECT t.holder FROM ${this.#tasks} WHERE t.tool_key = $1 AND ${READY} ORDER BY t.number + 0 LIMIT ${MAX_CALLERS}
      ) AS oldest`
  }

  /** What is known of the callers that the statement `holders` gives; $1 is the tool and $2 how many tasks to count. */
  async #read(rows: RunStatement, holders: string, values: (string | number)[]): Promise<WaitingCaller[]> {
    const { sql } = this.#store
    const ready = `FROM ${this.#tasks}
      WHERE t.tool_key = $1 AND ${READY} AND t.holder = waiting.holder AND ${notExpired(sql)}`
    const found = await rows<{ holder: string; ready: unknown; oldest: unknown; running: unknown }>(
      `SELECT waiting.holder,
         (SELECT count(*) FROM (SELECT 1 ${ready} LIMIT CAST($2 AS bigint)) AS counted) AS ready,
         (SELECT t.number ${ready} ORDER BY t.number LIMIT 1) AS oldest,
         (SELECT count(*) FROM ${this.#tasks} WHERE t.holder = waiting.holder AND t.worker IS NOT NULL) AS running
       FROM (${holders}) AS waiting ORDER BY waiting.holder`,
      values,
    )
    return found.map(({ holder, ready: count, oldest, running }) => {
      return { holder, ready: Number(count), oldest: Number(oldest), running: Number(running) }
    })
  }
}
