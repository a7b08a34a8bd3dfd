/**
 * The queues, which are pg-boss's: one job per task that is ready or running.
 *
 * A job that can be fetched is a task that can be run. A worker that fetches one puts another in its place that can be
 * fetched when its lease is over, and moves that date as long as it lives; so a lease is a job that nobody can see yet.
 * pg-boss's own leases last ten seconds at least, are found out by a pass over the whole queue, and are not renewed
 * inside of our transactions; this one has none of these limits and is read off the database's clock.
 *
 * A queue per audience and tool: a worker fetches from the queues of the tools it serves, and from no others.
 */
import { randomUUID } from 'node:crypto'
import type { Db, PgBoss } from 'pg-boss'
import type { Logger } from '../../server/index.ts'
import { StateError } from '../../state/internal.ts'
import { type Database, loadPgBoss } from '../database.ts'
import { digest } from '../digest.ts'
import type { PostgresPool, Sql } from '../sql.ts'
import { withPostgresErrors } from '../errors.ts'

/** A job names its task; its id is kept in the task's row, so that an older one is told from it. */
export interface TaskJob {
  readonly id: string
  readonly task: string
}

// Sixty-eight years: a job is removed with its task, never before.
const KEEP_SECONDS = 2_147_483_647

export class JobQueues {
  readonly #boss: PgBoss
  readonly #audience: string
  readonly #queues = new Map<string, Promise<string>>()

  static async start(database: Database, audience: string, logger: () => Logger): Promise<JobQueues> {
    const [{ PgBoss }, pool] = await Promise.all([loadPgBoss(), database.ready()])
    const boss = new PgBoss({
      db: unprepared(pool),
      schema: database.names.jobs,
      createSchema: false,
      schedule: false,
    })
    boss.on('error', ({ message }) => logger().warn({ err: { message } }, 'The queue of tasks cannot be tended.'))
    boss.on('warning', ({ message, data }) => logger().warn({ data }, message))
    await withPostgresErrors(() => boss.start()).catch(async (error: unknown) => {
      await stopBoss(boss)
      throw error
    })
    return new JobQueues(boss, audience)
  }

  private constructor(boss: PgBoss, audience: string) {
    this.#boss = boss
    this.#audience = audience
  }

  /** The queue of a tool, which is made when it is first needed. */
  queueOf(tool: string): Promise<string> {
    let queue = this.#queues.get(tool)
    if (queue === undefined) {
      queue = this.#make(tool)
      queue.catch(() => this.#queues.delete(tool))
      this.#queues.set(tool, queue)
    }
    return queue
  }

  /** Queues jobs that can be fetched after a while. */
  async put(sql: Sql, queue: string, jobs: readonly TaskJob[], afterMs: number): Promise<void> {
    const startAfter = intervalText(afterMs)
    const rows = jobs.map(({ id, task }) => ({ id, data: { task }, startAfter }))
    if (rows.length === 0) return
    const ids = await this.#boss.insert(queue, rows, { db: sql, returnId: true })
    if (ids?.length !== rows.length) throw this.#missing()
  }

  /** Up to so many jobs, oldest first. They are this transaction's; `remove` them or roll it back. */
  async fetch(sql: Sql, queue: string, batchSize: number): Promise<TaskJob[]> {
    const jobs = await this.#boss.fetch<{ task: string }>(queue, { batchSize, db: sql })
    return jobs.map(({ id, data }) => ({ id, task: data.task }))
  }

  async remove(sql: Sql, queue: string, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#boss.deleteJob(queue, [...ids], { db: sql })
  }

  /** Moves the time when a job can be fetched. False when it is not there any more, or is being fetched. */
  async postpone(sql: Sql, queue: string, id: string, afterMs: number): Promise<boolean> {
    const { updated } = await this.#boss.update(queue, undefined, { id, startAfter: intervalText(afterMs), db: sql })
    return updated === 1
  }

  async stop(): Promise<void> {
    await stopBoss(this.#boss)
  }

  /** Into a queue that somebody has removed pg-boss puts nothing, without a word. The next time it is made again. */
  #missing(): StateError {
    this.#queues.clear()
    return new StateError('STORE_CORRUPT', 'A queue of pg-boss was removed from the database; try again.')
  }

  async #make(tool: string): Promise<string> {
    const readable = tool.replaceAll(/[^\w.-]/g, '_').slice(0, 40)
    const name = `${readable}/${digest(this.#audience, tool).toString('hex').slice(0, 32)}`
    await withPostgresErrors(async () => {
      await this.#boss.createQueue(name, { retentionSeconds: KEEP_SECONDS })
      // pg-boss looks up a queue when it first uses it, on another connection: not in a transaction, which holds one.
      await this.#boss.findJobs(name, { id: randomUUID() })
    })
    return name
  }
}

/** Its timers; the connections are not its own, and it runs nothing. */
function stopBoss(boss: PgBoss): Promise<void> {
  return boss.stop({ close: false, graceful: false })
}

function intervalText(ms: number): string {
  return `${(ms / 1000).toFixed(3)} seconds`
}

/** For what pg-boss does by itself: its scripts of several statements cannot be prepared. */
function unprepared(pool: PostgresPool): Db {
  return { executeSql: (text, values = []) => pool.query({ text, values }) }
}
