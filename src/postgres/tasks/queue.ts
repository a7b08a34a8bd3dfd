/**
 * The queues of pg-boss: one job for each task that is running, or was and is not chosen by caller (`ready.ts`).
 *
 * A worker that claims a task adds a job that becomes visible when the lease is over, and postpones that time as long as
 * it lives. So a lease is a job that is not visible yet, measured by the database's clock, and a visible job means that
 * its task has lost its worker, or was given back. The leases of pg-boss itself last at least ten seconds, expire only by a scan of the whole queue,
 * and cannot be renewed in our transactions.
 *
 * There is one queue per audience and tool: a worker fetches only from the queues of its tools.
 */
import { randomUUID } from 'node:crypto'
import type { Db, PgBoss } from 'pg-boss'
import type { Logger } from '../../server/index.ts'
import { StateError } from '../../state/internal.ts'
import type { Database } from '../database.ts'
import { digest } from '../digest.ts'
import type { PostgresPool, Sql } from '../sql.ts'
import { withPostgresErrors } from '../errors.ts'
import { loadPgBoss } from '../packages.ts'

/** A job of a task. The row of the task has the id of its current job, so an outdated job is recognized. */
export interface TaskJob {
  readonly id: string
  readonly task: string
}

// PostgreSQL's largest integer, 68 years: a job is removed with its task, never before.
const KEEP_SECONDS = 0x7fff_ffff

// Earlier versions of this package had jobs for tasks that were not run yet, with the priority 0, and leases as well.
const LEASE_PRIORITY = 1

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
    boss.on('error', ({ message }) => logger().warn({ err: { message } }, 'The maintenance of the task queues fails.'))
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

  /** The queue of a tool; it is created at the first use. */
  queueOf(tool: string): Promise<string> {
    let queue = this.#queues.get(tool)
    if (queue === undefined) {
      queue = this.#create(tool)
      queue.catch(() => this.#queues.delete(tool))
      this.#queues.set(tool, queue)
    }
    return queue
  }

  /** Adds jobs that become visible after this time. */
  async put(sql: Sql, queue: string, jobs: readonly TaskJob[], afterMs: number): Promise<void> {
    const startAfter = intervalText(afterMs)
    const rows = jobs.map(({ id, task }) => ({ id, data: { task }, startAfter, priority: LEASE_PRIORITY }))
    if (rows.length === 0) return
    const ids = await this.#boss.insert(queue, rows, { db: sql, returnId: true })
    if (ids?.length !== rows.length) throw this.#queueMissing()
  }

  /**
   * Fetches jobs, the oldest first. In the same transaction they have to be removed, or it is rolled back. `hasOld`: also
   * those of earlier versions.
   */
  async fetch(sql: Sql, queue: string, batchSize: number, hasOld: boolean): Promise<TaskJob[]> {
    const options = { batchSize, db: sql, ...(!hasOld && { minPriority: LEASE_PRIORITY }) }
    const jobs = await this.#boss.fetch<{ task: string }>(queue, options)
    return jobs.map(({ id, data }) => ({ id, task: data.task }))
  }

  async remove(sql: Sql, queue: string, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#boss.deleteJob(queue, [...ids], { db: sql })
  }

  /** Sets when a job becomes visible. False when it no longer exists or is being fetched. */
  async postpone(sql: Sql, queue: string, id: string, afterMs: number): Promise<boolean> {
    const { updated } = await this.#boss.update(queue, undefined, { id, startAfter: intervalText(afterMs), db: sql })
    return updated === 1
  }

  async stop(): Promise<void> {
    await stopBoss(this.#boss)
  }

  /** pg-boss adds nothing to a removed queue and reports no error. The next use creates the queue again. */
  #queueMissing(): StateError {
    this.#queues.clear()
    return new StateError('STORE_CORRUPT', 'A queue of pg-boss was removed from the database; try again.')
  }

  async #create(tool: string): Promise<string> {
    const readable = tool.replaceAll(/[^\w.-]/g, '_').slice(0, 40)
    const name = `${readable}/${digest(this.#audience, tool).toString('hex').slice(0, 32)}`
    await withPostgresErrors(async () => {
      await this.#boss.createQueue(name, { retentionSeconds: KEEP_SECONDS })
      // pg-boss looks up a queue at its first use, on another connection. Here, because a transaction already holds one.
      await this.#boss.findJobs(name, { id: randomUUID() })
    })
    return name
  }
}

/** Stops the timers of pg-boss. The connections are ours, and it runs no workers. */
function stopBoss(boss: PgBoss): Promise<void> {
  return boss.stop({ close: false, graceful: false })
}

function intervalText(ms: number): string {
  return `${(ms / 1000).toFixed(3)} seconds`
}

/** The connection for pg-boss itself: its scripts have several statements and cannot be prepared. */
function unprepared(pool: PostgresPool): Db {
  return { executeSql: (text, values = []) => pool.query({ text, values }) }
}
