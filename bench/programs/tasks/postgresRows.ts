/** The rows of a task and of its jobs, each written by one prepared statement, as the engine and pg-boss write them. */
import { randomBytes, randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import { ARGS, CALLER, OWNER, RESULT, STEP, TOOL } from './store.ts'

/** A task, and its job in the queue. */
export interface QueuedTask {
  task: string
  job: string
}

/** Runs a statement: a connection, or a pool, where each statement is its own transaction. */
export type Queryable = Pick<PoolClient, 'query'>

const KEEP_MS = 604_800_000
const LEASE_SECONDS = 11.25
const RETENTION_SECONDS = 2_147_483_647
const [args, caller, result, step] = [ARGS, CALLER, RESULT, STEP].map((value) => JSON.stringify(value))
// The engine finds tasks by digests. They are not searched for here, so random bytes of the same length are enough.
const DIGEST_BYTES = 32
const owner = Buffer.alloc(DIGEST_BYTES, OWNER)

export class PostgresRows {
  readonly #tasks: string
  readonly #steps: string
  readonly #jobs: string
  readonly #queue: string

  constructor(schema: string, queue: string) {
    this.#tasks = `"${schema}".tasks`
    this.#steps = `"${schema}".steps`
    this.#jobs = `"${schema}_jobs".job_common`
    this.#queue = queue
  }

  async addTask(on: Queryable): Promise<QueuedTask> {
    const [job, id] = [randomUUID(), randomUUID()]
    const text = `INSERT INTO ${this.#tasks} (address, owner, id, tool, args, caller, call_id, round, call, queue, job,
        status)
      VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9, $10, 'working') RETURNING task`
    const digests = [randomBytes(DIGEST_BYTES), randomBytes(DIGEST_BYTES)]
    const values = [digests[0], owner, id, TOOL, args, caller, `"${id}"`, digests[1], this.#queue, job]
    const { rows } = await on.query<{ task: string }>({ name: 'task', text, values })
    return { task: rows[0]?.task ?? '', job }
  }

  /** Adds jobs that can be fetched now, or when a lease has expired. */
  async addJobs(on: Queryable, added: readonly QueuedTask[], when: 'now' | 'later'): Promise<void> {
    const text = `INSERT INTO ${this.#jobs} (id, name, data, start_after, keep_until, policy)
      SELECT id, $1, jsonb_build_object('task', task), now() + $2 * interval '1s', now() + $3 * interval '1s', 'standard'
      FROM unnest($4::uuid[], $5::text[]) AS given (id, task)`
    const afterSeconds = when === 'now' ? 0 : LEASE_SECONDS
    const values = [this.#queue, afterSeconds, RETENTION_SECONDS, idsOf(added), added.map(({ task }) => task)]
    await on.query({ name: 'jobs', text, values })
  }

  async fetchJobs(on: Queryable, fetched: readonly QueuedTask[]): Promise<void> {
    const text = `UPDATE ${this.#jobs} SET state = 'active', started_on = now(), heartbeat_on = now()
      WHERE name = $1 AND id = ANY($2::uuid[])`
    await on.query({ name: 'fetch', text, values: [this.#queue, idsOf(fetched)] })
  }

  async removeJobs(on: Queryable, removed: readonly QueuedTask[]): Promise<void> {
    const text = `DELETE FROM ${this.#jobs} WHERE name = $1 AND id = ANY($2::uuid[])`
    await on.query({ name: 'remove', text, values: [this.#queue, idsOf(removed)] })
  }

  /** Leases tasks, and gives each a new job. */
  async lease(on: Queryable, held: readonly QueuedTask[]): Promise<void> {
    const text = `UPDATE ${this.#tasks} AS t SET epoch = 1, held = true, job = given.job
      FROM unnest($1::bigint[], $2::uuid[]) AS given (task, job) WHERE t.task = given.task`
    await on.query({ name: 'hold', text, values: [held.map(({ task }) => task), idsOf(held)] })
  }

  async addStep(on: Queryable, { task }: QueuedTask, key: string): Promise<void> {
    const text = `INSERT INTO ${this.#steps} (task, key, value) VALUES ($1, $2, $3)`
    await on.query({ name: 'step', text, values: [task, JSON.stringify(key), step] })
  }

  async end(on: Queryable, { task }: QueuedTask): Promise<void> {
    const text = `UPDATE ${this.#tasks} SET held = false, job = NULL, version = 2, updated_at = now(),
        status = 'completed', result = $2, expires_at = now() + $3 * interval '1ms' WHERE task = $1`
    await on.query({ name: 'end', text, values: [task, result, KEEP_MS] })
  }
}

function idsOf(queued: readonly QueuedTask[]): string[] {
  return queued.map(({ job }) => job)
}
