/**
 * The baseline of the PostgreSQL engine: the rows that it and pg-boss write, in their own tables and transactions, by
 * prepared statements alone.
 *
 * Tasks that are ready are taken together, as the engine does with those that came while it took others. Nothing is
 * looked for, checked, parsed or told to anybody.
 */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { EngineStore } from './engineStore.ts'
import { inParallel, loopInParallel } from './parallel.ts'
import { PostgresRows, type QueuedTask } from './postgresRows.ts'
import { openEngine } from './engines.ts'
import { stepKey, type TaskSession, type TaskStore } from './store.ts'
import { postgresWriteCounts } from './writeCounts.ts'

const MOST_TAKEN = 16
/** Each statement is planned once, and not for the empty tables that are here at first. */
const PLANNING = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off'

interface Waiting {
  queued: QueuedTask
  onTaken(taken: QueuedTask): void
}

export async function postgresStatements(url: string, schema: string): Promise<TaskStore> {
  const pool = new pg.Pool({ connectionString: url, options: PLANNING })
  return new PostgresStatements(pool, new PostgresRows(schema, await makeTables(url, schema, pool)))
}

/** Lets the engine run one task: then its tables and its queue are there. Gives the name of the queue. */
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
  #isTaking = false

  constructor(pool: pg.Pool, rows: PostgresRows) {
    this.#pool = pool
    this.#rows = rows
  }

  async tasks(inFlight: number): Promise<TaskSession> {
    const once = async (): Promise<void> => this.#end(await this.#take(await this.#create()))
    return { run: (limit) => loopInParallel(limit, inFlight, once), close: async () => undefined }
  }

  async steps(inFlight: number): Promise<TaskSession> {
    const runs = await inParallel(inFlight, async () => ({ ...(await this.#take(await this.#create())), steps: 0 }))
    return {
      run: (limit) =>
        loopInParallel(limit, inFlight, async (lane) => {
          const run = runs[lane]
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
    return this.#together(async (client) => {
      const queued = await this.#rows.addTask(client)
      await this.#rows.addJobs(client, [queued], 'now')
      return queued
    })
  }

  #end(taken: QueuedTask): Promise<void> {
    return this.#together(async (client) => {
      await this.#rows.end(client, taken)
      await this.#rows.removeJobs(client, [taken])
    })
  }

  #take(queued: QueuedTask): Promise<QueuedTask> {
    return new Promise((onTaken, reject) => {
      this.#waiting.push({ queued, onTaken })
      this.#takeAll().catch(reject)
    })
  }

  async #takeAll(): Promise<void> {
    if (this.#isTaking) return
    this.#isTaking = true
    while (this.#waiting.length > 0) await this.#takeSome(this.#waiting.splice(0, MOST_TAKEN))
    this.#isTaking = false
  }

  async #takeSome(some: readonly Waiting[]): Promise<void> {
    const fetched = some.map(({ queued }) => queued)
    const taken = fetched.map(({ task }) => ({ task, job: randomUUID() }))
    await this.#together(async (client) => {
      await this.#rows.fetchJobs(client, fetched)
      await this.#rows.hold(client, taken)
      await this.#rows.removeJobs(client, fetched)
      await this.#rows.addJobs(client, taken, 'later')
    })
    for (const [index, { onTaken }] of some.entries()) onTaken(taken[index] ?? { task: '', job: '' })
  }

  async #together<T>(write: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect()
    await client.query('BEGIN')
    const written = await write(client)
    await client.query('COMMIT')
    client.release()
    return written
  }
}
