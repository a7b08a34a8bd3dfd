/** Removes expired tasks in batches, in one process at a time. Expired tasks cannot be read before that either. */
import { NOT_EXPIRED, type PostgresTaskStore, transaction } from './store.ts'

const SWEEP_BATCH = 500
const MAX_BATCHES = 20
const SWEEP_MS = 30_000

/** Gives the number of removed tasks. */
export function sweep(store: PostgresTaskStore, limit = SWEEP_BATCH): Promise<number> {
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
      [limit],
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

/** Sweeps periodically. Gives a function that stops it. */
export function startSweeping(store: PostgresTaskStore): () => void {
  // Jitter, so that processes that were started together do not sweep at the same time.
  const timer = setInterval(() => void sweepAll(store), SWEEP_MS * (0.75 + Math.random() / 2)).unref()
  return () => clearInterval(timer)
}

async function sweepAll(store: PostgresTaskStore): Promise<void> {
  try {
    for (let batch = 0; batch < MAX_BATCHES; batch++) if ((await sweep(store)) < SWEEP_BATCH) return
  } catch {
    // The worker logs that the database is unavailable; the next sweep tries again.
  }
}
