/** Removes tasks whose time is over, some at a time, in one process at a time. They are unknown before that. */
import { NOT_EXPIRED, type PostgresTaskStore, transaction } from './store.ts'

const SWEEP_BATCH = 500
const MAX_BATCHES = 20
const SWEEP_MS = 30_000

/** Gives how many were removed. */
export function sweep(store: PostgresTaskStore, most = SWEEP_BATCH): Promise<number> {
  const { tables } = store.database.names
  return transaction(store, async (sql) => {
    const [lock] = await sql.rows<{ is_ours: boolean }>(
      'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS is_ours',
      [`pannier sweeps ${tables}`],
    )
    if (!lock?.is_ours) return 0
    const rows = await sql.rows<{ queue: string; job: string | null }>(
      `WITH expired AS (
         SELECT t.task FROM ${tables}.tasks AS t WHERE NOT ${NOT_EXPIRED}
         ORDER BY t.expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
       )
       DELETE FROM ${tables}.tasks AS t USING expired WHERE t.task = expired.task RETURNING t.queue, t.job`,
      [most],
    )
    const byQueue = Map.groupBy(rows, ({ queue }) => queue)
    for (const [queue, some] of byQueue) {
      await store.jobs.remove(
        sql,
        queue,
        some.flatMap(({ job }) => job ?? []),
      )
    }
    return rows.length
  })
}

/** Sweeps from time to time. Gives the way to stop that. */
export function sweepOften(store: PostgresTaskStore): () => void {
  // Processes that were started together do not all come at the same time.
  const timer = setInterval(() => void sweepAll(store), SWEEP_MS * (0.75 + Math.random() / 2)).unref()
  return () => clearInterval(timer)
}

async function sweepAll(store: PostgresTaskStore): Promise<void> {
  try {
    for (let turn = 0; turn < MAX_BATCHES; turn++) if ((await sweep(store)) < SWEEP_BATCH) return
  } catch {
    // The worker says that the database is away; the next sweep does what this one could not.
  }
}
