/**
 * The baseline of the PostgreSQL engine: the rows that it writes, in its own tables and transactions, by prepared
 * statements alone.
 *
 * Ready tasks are claimed in batches, as the engine does with tasks that were created while it claimed others. Nothing
 * is searched, checked, parsed or notified.
 */
import pg from 'pg'
import { inParallel, loopInParallel } from './parallel.ts'
import { PostgresRows } from './postgresRows.ts'
import { openEngine } from './engines.ts'
import { stepKey, type TaskSession, type TaskStore } from './store.ts'
import { postgresWriteCounts } from './writeCounts.ts'

const MAX_CLAIMED = 16
/** Each statement is planned once, with indexes, although the tables are empty at first. */
const PLANNING = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off'

interface Waiting {
  task: string
  onClaimed(task: string): void
}

export async function postgresStatements(url: string, schema: string): Promise<TaskStore> {
  const { close } = await openEngine({ database: 'PostgreSQL', url, schema }) // it creates the tables
  await close()
  return new PostgresStatements(new pg.Pool({ connectionString: url, options: PLANNING }), new PostgresRows(schema))
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
    const runs = await inParallel(inFlight, async () => ({ task: await this.#claim(await this.#create()), steps: 0 }))
    return {
      run: (limit) =>
        loopInParallel(limit, inFlight, async (loop) => {
          const run = runs[loop]
          if (run !== undefined) await this.#rows.addStep(this.#pool, run.task, stepKey(++run.steps))
        }),
      close: async () => {
        await Promise.all(runs.map(({ task }) => this.#end(task)))
        return undefined
      },
    }
  }

  writeCounts() {
    return postgresWriteCounts(this.#pool)
  }

  #create(): Promise<string> {
    return this.#inTransaction((client) => this.#rows.addTask(client))
  }

  #end(task: string): Promise<void> {
    return this.#rows.end(this.#pool, task)
  }

  #claim(task: string): Promise<string> {
    return new Promise((onClaimed, reject) => {
      this.#waiting.push({ task, onClaimed })
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
    await this.#inTransaction((client) =>
      this.#rows.lease(
        client,
        batch.map(({ task }) => task),
      ),
    )
    for (const { task, onClaimed } of batch) onClaimed(task)
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
