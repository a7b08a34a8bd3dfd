/**
 * The baseline of the PostgreSQL engine: the rows that it and pg-boss write, in their own tables and transactions, by
 * prepared statements alone.
 *
 * Ready tasks are claimed in batches, as the engine does with tasks that were created while it claimed others. Nothing
 * is searched, checked, parsed or notified.
 */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { EngineStore } from './engineStore.ts'
import { inParallel, loopInParallel } from './parallel.ts'
import { PostgresRows, type QueuedTask } from './postgresRows.ts'
import { openEngine } from './engines.ts'
import { stepKey, type TaskSession, type TaskStore } from './store.ts'
import { postgresWriteCounts } from './writeCounts.ts'

const MAX_CLAIMED = 16
/** Each statement is planned once, with indexes, although the tables are empty at first. */
const PLANNING = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off'

interface Waiting {
  queued: QueuedTask
  onClaimed(claimed: QueuedTask): void
}

export async function postgresStatements(url: string, schema: string): Promise<TaskStore> {
  const pool = new pg.Pool({ connectionString: url, options: PLANNING })
  return new PostgresStatements(pool, new PostgresRows(schema, await makeTables(url, schema, pool)))
}

/** Runs one task with the engine, which creates its tables and its queue. Returns the name of the queue. */
async function makeTables(url: string, schema: string, pool: pg.Pool): Promise<string> {
  const { engine, close } = await openEngine({ database: 'PostgreSQL', url, schema })
  const session = await new EngineStore(engine, () => postgresWriteCounts(pool)).tasks(1)
  await session.run({ count: 1 })
  await close()
  const { rows } = await pool.query<{ queue: string }>(`SELECT queue FROM "${schema}".tasks`)
  return rows[0]?.queue ?? ''
}

class PostgresStatements implements TaskStore {
  readonly #pool: pg.Pool
  readonly #rows: PostgresRows
  readonly #waiting: Waiting[] = []
  #isClaiming = false

  constructor(pool: pg.Pool, rows: PostgresRows) {
    this.#pool = pool
    this.#rows = rows
  }

  async tasks(inFlight: number): Promise<TaskSession> {
    const once = async (): Promise<void> => this.#end(await this.#claim(await this.#create()))
    return { run: (limit) => loopInParallel(limit, inFlight, once), close: async () => undefined }
  }

  async steps(inFlight: number): Promise<TaskSession> {
    const runs = await inParallel(inFlight, async () => ({ ...(await this.#claim(await this.#create())), steps: 0 }))
    return {
      run: (limit) =>
        loopInParallel(limit, inFlight, async (loop) => {
          const run = runs[loop]
          if (run !== undefined) await this.#rows.addStep(this.#pool, run, stepKey(++run.steps))
        }),
      close: async () => {
        await Promise.all(runs.map((run) => this.#end(run)))
        return undefined
      },
    }
  }

  writeCounts() {
    return postgresWriteCounts(this.#pool)
  }

  #create(): Promise<QueuedTask> {
    return this.#inTransaction(async (client) => {
      const queued = await this.#rows.addTask(client)
      await this.#rows.addJobs(client, [queued], 'now')
      return queued
    })
  }

  #end(claimed: QueuedTask): Promise<void> {
    return this.#inTransaction(async (client) => {
      await this.#rows.end(client, claimed)
      await this.#rows.removeJobs(client, [claimed])
    })
  }

  #claim(queued: QueuedTask): Promise<QueuedTask> {
    return new Promise((onClaimed, reject) => {
      this.#waiting.push({ queued, onClaimed })
      this.#claimWaiting().catch(reject)
    })
  }

  async #claimWaiting(): Promise<void> {
    if (this.#isClaiming) return
    this.#isClaiming = true
    while (this.#waiting.length > 0) await this.#claimBatch(this.#waiting.splice(0, MAX_CLAIMED))
    this.#isClaiming = false
  }

  async #claimBatch(batch: readonly Waiting[]): Promise<void> {
    const fetched = batch.map(({ queued }) => queued)
    const claimed = fetched.map(({ task }) => ({ task, job: randomUUID() }))
    await this.#inTransaction(async (client) => {
      await this.#rows.fetchJobs(client, fetched)
      await this.#rows.lease(client, claimed)
      await this.#rows.removeJobs(client, fetched)
      await this.#rows.addJobs(client, claimed, 'later')
    })
    for (const [index, { onClaimed }] of batch.entries()) onClaimed(claimed[index] ?? { task: '', job: '' })
  }

  async #inTransaction<T>(write: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect()
    await client.query('BEGIN')
    const written = await write(client)
    await client.query('COMMIT')
    client.release()
    return written
  }
}
