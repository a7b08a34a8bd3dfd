/** The rows of a task, each written by one prepared statement, as the engine writes them. */
import { randomBytes, randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import { ARGS, CALLER, OWNER, RESULT, STEP, TOOL } from './store.ts'

/** Runs a statement: a connection, or a pool, where each statement is its own transaction. */
export type Queryable = Pick<PoolClient, 'query'>

const KEEP_MS = 604_800_000
const LEASE_MS = 12_187
const NOW = '(extract(epoch FROM now()) * 1000)::bigint'
const [args, caller, result, step] = [ARGS, CALLER, RESULT, STEP].map((value) => JSON.stringify(value))
const [owner, toolKey] = [OWNER, TOOL].map((text) => text.padEnd(32, '0'))

export class PostgresRows {
  readonly #tasks: string
  readonly #calls: string
  readonly #steps: string

  constructor(schema: string) {
    this.#tasks = `"${schema}".tasks`
    this.#calls = `"${schema}".calls`
    this.#steps = `"${schema}".steps`
  }

  /** Gives the number of the task. */
  async addTask(on: Queryable): Promise<string> {
    const id = `"${randomUUID()}"`
    const text = `INSERT INTO ${this.#tasks} (address, owner, holder, call, tool_key, id, tool, call_id, round, created_at,
        updated_at, status)
      VALUES ($1, $2, $2, $3, $4, $5, $6, $7, 0, ${NOW}, ${NOW}, 'working') RETURNING number`
    // The engine finds tasks by digests. They are not searched for here, so random ones of the same length are enough.
    const digests = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')]
    const values = [digests[0], owner, digests[1], toolKey, id, `"${TOOL}"`, id]
    const { rows } = await on.query<{ number: string }>({ name: 'task', text, values })
    const task = rows[0]?.number ?? ''
    const call = `INSERT INTO ${this.#calls} (task, args, caller) VALUES ($1, $2, $3)`
    await on.query({ name: 'call', text: call, values: [task, args, caller] })
    return task
  }

  async lease(on: Queryable, tasks: readonly string[]): Promise<void> {
    const text = `UPDATE ${this.#tasks} SET generation = 1, worker = 'bench', leased_until = ${NOW} + ${LEASE_MS}
      WHERE number = ANY($1::bigint[])`
    await on.query({ name: 'hold', text, values: [tasks] })
  }

  async addStep(on: Queryable, task: string, key: string): Promise<void> {
    const text = `INSERT INTO ${this.#steps} (task, key, done, value) VALUES ($1, $2, 1, $3)`
    await on.query({ name: 'step', text, values: [task, JSON.stringify(key), step] })
  }

  async end(on: Queryable, task: string): Promise<void> {
    const text = `UPDATE ${this.#tasks} SET worker = NULL, version = 2, updated_at = ${NOW}, status = 'completed',
        outcome = $2, expires_at = ${NOW} + ${KEEP_MS} WHERE number = $1`
    await on.query({ name: 'end', text, values: [task, result] })
  }
}
