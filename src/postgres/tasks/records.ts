/** Tasks as their owners see them. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { StateError } from '../../state/internal.ts'
import {
  cursorUnknown,
  type Page,
  PAGE_BYTES,
  readApprovers,
  readObject,
  readProgress,
  readString,
  type TaskFailure,
  type TaskRecord,
} from '../../tasks/internal.ts'
import type { Sql } from '../sql.ts'
import { addressDigest, NOT_EXPIRED, type PostgresTaskStore, type TaskRef } from './store.ts'

export interface RecordRow {
  readonly id: string
  readonly tool: string
  readonly status: TaskRecord['status']
  readonly status_message: string | null
  readonly progress: string | null
  readonly created_ms: number
  readonly updated_ms: number
  readonly ttl_ms: number | null
  readonly result: string | null
  readonly failure: string | null
  readonly questions: readonly (readonly [wireKey: string, request: string, approvers: string | null])[] | null
}

const COLUMNS = `
    t.id, t.tool, t.status, t.status_message, t.progress, t.result, t.failure,
    (extract(epoch FROM t.created_at) * 1000)::float8 AS created_ms,
    (extract(epoch FROM t.updated_at) * 1000)::float8 AS updated_ms,
    (extract(epoch FROM t.expires_at - t.created_at) * 1000)::float8 AS ttl_ms`

/** The columns of a record, on `tasks AS t`. They take the same work for every status. */
export function recordColumns({ database }: PostgresTaskStore): string {
  return `${COLUMNS},
    (SELECT json_agg(json_build_array(q.wire_key, q.request, q.approvers) ORDER BY q.place)
     FROM ${database.names.tables}.questions AS q
     WHERE q.task = t.task AND q.state = 'open' AND t.status = 'input_required') AS questions`
}

/** The columns of a record of a task that has not asked anything yet. */
export const NEW_RECORD_COLUMNS = `${COLUMNS}, NULL AS questions`

export async function readTask(
  sql: Sql,
  store: PostgresTaskStore,
  { address, owner }: TaskRef,
): Promise<TaskRecord | undefined> {
  const [row] = await sql.rows<RecordRow>(
    `SELECT ${recordColumns(store)} FROM ${store.database.names.tables}.tasks AS t
     WHERE t.address = $1 AND t.owner = $2 AND ${NOT_EXPIRED}`,
    [address, owner],
  )
  return row && recordOf(row)
}

/** A task of any owner that waits for somebody else. */
export async function awaitingRef(sql: Sql, store: PostgresTaskStore, id: string): Promise<TaskRef | undefined> {
  const { tables } = store.database.names
  const [row] = await sql.rows<TaskRef>(
    `SELECT t.address, t.owner FROM ${tables}.tasks AS t
     WHERE t.address = $1 AND t.status = 'input_required' AND ${NOT_EXPIRED} AND EXISTS (
       SELECT FROM ${tables}.questions AS q WHERE q.task = t.task AND q.state = 'open' AND q.approvers IS NOT NULL)`,
    [addressDigest(store, id)],
  )
  return row
}

/** Those of the tasks that the owner has. */
export async function existingTasks(
  sql: Sql,
  store: PostgresTaskStore,
  ids: readonly string[],
  owner: Buffer,
): Promise<string[]> {
  const addresses = ids.map((id) => addressDigest(store, id))
  const rows = await sql.rows<{ address: Buffer }>(
    `SELECT t.address FROM ${store.database.names.tables}.tasks AS t
     WHERE t.address = ANY($1::bytea[]) AND t.owner = $2 AND ${NOT_EXPIRED}`,
    [addresses, owner],
  )
  const found = new Set(rows.map(({ address }) => address.toString('hex')))
  return ids.filter((_, at) => found.has((addresses[at] as Buffer).toString('hex')))
}

export interface ListOptions {
  readonly owner: Buffer
  /** The address of the task that is the cursor. */
  readonly after: Buffer | undefined
  readonly limit: number
}

export async function listTasks(
  sql: Sql,
  store: PostgresTaskStore,
  { owner, after, limit }: ListOptions,
): Promise<Page> {
  const before = after === undefined ? null : await positionOf(sql, store, { address: after, owner })
  const rows = await sql.rows<RecordRow & { found: number }>(
    `WITH page AS (
       SELECT t.* FROM ${store.database.names.tables}.tasks AS t
       WHERE t.owner = $1 AND ($2::bigint IS NULL OR t.task < $2) AND ${NOT_EXPIRED} ORDER BY t.task DESC LIMIT $3
     ), sized AS (
       SELECT page.*, count(*) OVER ()::integer AS found,
         sum(octet_length(result)) OVER (ORDER BY task DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS size
       FROM page
     )
     SELECT ${recordColumns(store)}, t.found FROM sized AS t
     WHERE t.size IS NULL OR t.size <= $4 ORDER BY t.task DESC LIMIT $3 - 1`,
    [owner, before, limit + 1, PAGE_BYTES],
  )
  return {
    tasks: rows.flatMap((row) => recordOrNone(store, row)),
    next: (rows[0]?.found ?? 0) > rows.length ? rows.at(-1)?.id : undefined,
  }
}

/** Also of an expired task: its row still works as a cursor. */
async function positionOf(sql: Sql, { database }: PostgresTaskStore, { address, owner }: TaskRef): Promise<string> {
  const [row] = await sql.rows<{ task: string }>(
    `SELECT task FROM ${database.names.tables}.tasks WHERE address = $1 AND owner = $2`,
    [address, owner],
  )
  if (row === undefined) throw cursorUnknown()
  return row.task
}

/** A task with damaged rows is left out of a list. */
function recordOrNone({ logger }: PostgresTaskStore, row: RecordRow): TaskRecord[] {
  try {
    return [recordOf(row)]
  } catch (error) {
    if (!(error instanceof StateError) || error.code !== 'STORE_CORRUPT') throw error
    logger().error({ task: row.id }, 'The stored data of a task is damaged; the task is left out of a list.')
    return []
  }
}

export function recordOf(row: RecordRow): TaskRecord {
  const { id, tool, status, status_message: message, result, failure, questions } = row
  return {
    id,
    tool,
    status,
    statusMessage: message === null ? undefined : readString(message),
    progress: readProgress(row.progress),
    createdAt: row.created_ms,
    updatedAt: row.updated_ms,
    ttlMs: row.ttl_ms,
    questions: new Map(questions?.map(([wireKey, request]) => [readString(wireKey), readRequest(request)])),
    approvers: new Map(
      questions?.flatMap(([wireKey, , named]) =>
        named === null ? [] : [[readString(wireKey), readApprovers(named)] as const],
      ),
    ),
    result: result === null ? undefined : readObject(result),
    failure: failure === null ? undefined : readFailure(failure),
  }
}

// Sound: only `ask` writes requests, and only `end` and `failExhausted` write failures.
function readRequest(text: string): InputRequest {
  return readObject(text) as unknown as InputRequest
}

function readFailure(text: string): TaskFailure {
  return readObject(text) as unknown as TaskFailure
}
