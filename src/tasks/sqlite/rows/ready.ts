/** Tasks that are ready and no suspects, chosen by caller: see `fairness.ts`. */
import { withStoreErrors } from '../../../state/stores/index.ts'
import { fairShares, MAX_CALLERS } from '../../fairness.ts'
import { CLAIM_COLUMNS, NOT_EXPIRED, READY, type SqliteRow, type SqliteTaskStore, UNFINISHED } from '../store.ts'

const UNSUSPECTED = `audience = ? AND tool = ? AND ${READY} AND crashes = 0`

export class ReadyRows {
  readonly #store: SqliteTaskStore
  readonly #statements
  /** By tool: the last caller that was looked at, where there are too many to look at all of them. */
  readonly #seen = new Map<string, string>()

  constructor(store: SqliteTaskStore) {
    this.#store = store
    const { database } = store
    this.#statements = withStoreErrors(() => ({
      nextHolder: database.prepare(`SELECT min(holder) AS holder FROM tasks WHERE ${UNSUSPECTED} AND holder > ?`),
      // `+ 0`: with a bare parameter SQLite would plan the statement at each use.
      oldest: database.prepare(
        `SELECT holder FROM tasks INDEXED BY tasks_ready
         WHERE ${UNSUSPECTED} AND ${NOT_EXPIRED} ORDER BY number LIMIT ? + 0`,
      ),
      ofHolder: database.prepare(
        `SELECT ${CLAIM_COLUMNS} FROM tasks
         WHERE ${UNSUSPECTED} AND holder = ? AND ${NOT_EXPIRED} ORDER BY number LIMIT ? + 0`,
      ),
      running: database.prepare(
        `SELECT count(*) AS running FROM tasks
         WHERE audience = ? AND holder = ? AND ${UNFINISHED} AND worker IS NOT NULL`,
      ),
    }))
  }

  /** The tasks to be run next. `tools` are names as JSON text. */
  next(tools: ReadonlySet<string>, limit: number): SqliteRow[] {
    const holders = new Set(Array.from(tools, (tool) => this.#holders(tool)).flat())
    const rowsOf = new Map(Array.from(holders, (holder) => [holder, this.#ofHolder(tools, holder, limit)]))
    const callers = Array.from(rowsOf, ([holder, rows]) => ({
      holder,
      running: this.#running(holder),
      ready: rows.length,
      oldest: numberOf(rows[0]),
    }))
    const chosen = Array.from(
      fairShares(callers, limit),
      ([holder, share]) => rowsOf.get(holder)?.slice(0, share) ?? [],
    )
    return byNumber(chosen.flat())
  }

  /** Whether a task is ready. */
  isAny(tools: Iterable<string>): boolean {
    return Array.from(tools).some((tool) => this.#oldest(tool, 1).length > 0)
  }

  /** Callers with ready tasks. */
  #holders(tool: string): string[] {
    const after = this.#seen.get(tool) ?? ''
    const holders: string[] = []
    while (holders.length < MAX_CALLERS) {
      const { holder } = this.#statements.nextHolder.get(this.#store.audience, tool, holders.at(-1) ?? after) ?? {}
      if (typeof holder !== 'string') break
      holders.push(holder)
    }
    const last = holders.length === MAX_CALLERS ? holders.at(-1) : undefined
    if (last === undefined) this.#seen.delete(tool)
    else this.#seen.set(tool, last)
    const hasSeenAll = after === '' && last === undefined
    return hasSeenAll ? holders : [...holders, ...this.#oldest(tool, MAX_CALLERS)]
  }

  #oldest(tool: string, limit: number): string[] {
    const { audience, now } = this.#store
    return this.#statements.oldest.all(audience, tool, now(), limit).map(({ holder }) => String(holder))
  }

  #ofHolder(tools: Iterable<string>, holder: string, limit: number): SqliteRow[] {
    const { audience, now } = this.#store
    const rows = Array.from(tools, (tool) => this.#statements.ofHolder.all(audience, tool, holder, now(), limit))
    return byNumber(rows.flat()).slice(0, limit)
  }

  #running(holder: string): number {
    return Number(this.#statements.running.get(this.#store.audience, holder)?.['running'])
  }
}

function byNumber(rows: SqliteRow[]): SqliteRow[] {
  return rows.toSorted((one, other) => numberOf(one) - numberOf(other))
}

function numberOf(row: SqliteRow | undefined): number {
  return Number(row?.['number'])
}
