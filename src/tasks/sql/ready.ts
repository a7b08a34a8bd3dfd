/** Ready tasks that are not suspects, chosen by caller: see `fairness.ts`. */
import { fairShares, MAX_CALLERS, type WaitingCaller } from '../fairness.ts'
import { query, type Transaction } from './driver.ts'
import { notExpired, READY, statement, SUSPECT, type TaskStore } from './store.ts'

const FIRST = ''

export interface PickedCallers {
  /** The number of tasks to run next, by the caller's key. */
  readonly shares: ReadonlyMap<string, number>
  /** Whether more tasks may be ready. */
  readonly isMore: boolean
}

/** The tools among these that have ready tasks. */
export async function readyTools(store: TaskStore, tools: readonly string[]): Promise<string[]> {
  const rows = await store.driver.read<{ value: string }>(READY_TOOLS(store), [tools])
  return rows.map(({ value }) => value)
}

const READY_TOOLS = statement(({ sql }) => {
  const found = `SELECT 1 FROM ${sql.tasks} AS t WHERE t.tool_key = each.value AND ${notExpired(sql)}`
  return `SELECT value FROM ${sql.each('$1')}
    WHERE EXISTS (${found} AND ${READY}) OR EXISTS (${found} AND ${SUSPECT} AND t.retry_at <= ${sql.now})`
})

/**
 * The waiting callers that follow $3. Each is found by one index look-up, however many tasks the previous one has. $1 is
 * the tool and $2 the maximum number of tasks to count.
 */
const FOLLOWING = statement(({ sql }) => {
  const next = (after: string) =>
    `(SELECT t.holder FROM ${sql.tasks} AS t WHERE t.tool_key = $1 AND ${READY} AND t.holder > ${after}
      ORDER BY t.holder LIMIT 1)`
  const holders = `WITH RECURSIVE found (holder, place) AS (
      SELECT ${next('$3')}, 1
      UNION ALL SELECT ${next('found.holder')}, found.place + 1 FROM found
      WHERE found.holder IS NOT NULL AND found.place < ${MAX_CALLERS}
    ) SELECT holder FROM found WHERE holder IS NOT NULL`
  const ready = `FROM ${sql.tasks} AS t
    WHERE t.tool_key = $1 AND ${READY} AND t.holder = waiting.holder AND ${notExpired(sql)}`
  return `SELECT waiting.holder,
      (SELECT count(*) FROM (SELECT 1 ${ready} LIMIT CAST($2 AS bigint)) AS counted) AS ready,
      (SELECT t.number ${ready} ORDER BY t.number LIMIT 1) AS oldest,
      (SELECT count(*) FROM ${sql.tasks} AS t WHERE t.holder = waiting.holder AND t.worker IS NOT NULL) AS running
    FROM (${holders}) AS waiting ORDER BY waiting.holder`
})

/** Chooses whose tasks one worker runs next. */
export class ReadyTasks {
  readonly #store: TaskStore
  /** By tool: the last caller considered, if there are too many to consider all. */
  readonly #seen = new Map<string, string>()

  constructor(store: TaskStore) {
    this.#store = store
  }

  *pick(tool: string, slots: number): Transaction<PickedCallers> {
    const isContinued = this.#seen.has(tool)
    const callers = yield* this.#callers(tool, slots)
    const shares = fairShares(callers, slots)
    const picked = [...shares.values()].reduce((sum, share) => sum + share, 0)
    const ready = callers.reduce((sum, caller) => sum + caller.ready, 0)
    // Counts at most one task per slot for each caller; some callers may not have been read.
    const isMore = picked > 0 && (picked === slots || ready > picked || isContinued || this.#seen.has(tool))
    return { shares, isMore }
  }

  /** The next callers with ready tasks, in the order of their keys; from the beginning again after the last. */
  *#callers(tool: string, slots: number): Transaction<WaitingCaller[]> {
    const after = this.#seen.get(tool) ?? FIRST
    const callers = yield* this.#following(tool, slots, after)
    if (callers.length === 0 && after !== FIRST) callers.push(...(yield* this.#following(tool, slots, FIRST)))
    const last = callers.length === MAX_CALLERS ? callers.at(-1) : undefined
    if (last === undefined) this.#seen.delete(tool)
    else this.#seen.set(tool, last.holder)
    return callers
  }

  *#following(tool: string, slots: number, after: string): Transaction<WaitingCaller[]> {
    const found = yield* query<{ holder: string; ready: unknown; oldest: unknown; running: unknown }>(
      FOLLOWING(this.#store),
      [tool, slots, after],
    )
    return found.map(({ holder, ready, oldest, running }) => {
      return { holder, ready: Number(ready), oldest: Number(oldest), running: Number(running) }
    })
  }
}
