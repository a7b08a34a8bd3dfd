/**
 * Lists of open questions. Each addressee has an index of its questions by their place, so that a page costs the same however
 * many questions wait for others.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { OpenQuestionQuery, OpenQuestionRecord } from '../engine.ts'
import { readApprovers, readEntry, readObject, readString } from '../entry.ts'
import { keyOf, notExpired, type TaskStore } from './store.ts'

interface Row {
  readonly place: string | number
  readonly wire_key: string
  readonly request: string
  readonly approvers: string | null
  readonly asked_at: string | number
  readonly id: string
  readonly tool: string
  readonly owner: string
  readonly expires_at: string | number | null
  readonly caller: string
}

/** The maximum number of names, each of which is a subquery. SQLite allows 500. */
const MAX_NAMES = 400

export async function openQuestions(
  store: TaskStore,
  { owner, names, after, limit }: OpenQuestionQuery,
): Promise<readonly OpenQuestionRecord[]> {
  const keys = names.slice(0, MAX_NAMES).map((name) => keyOf(store, name))
  const ownerKey = owner === undefined ? undefined : keyOf(store, owner)
  const sources = [
    ...keys.map((_, at) => addressed(store, `$${at + 3}`)),
    ...(ownerKey === undefined ? [] : [owned(store, `$${keys.length + 3}`)]),
  ]
  if (sources.length === 0) return []
  const values = [after, limit, ...keys, ...(ownerKey === undefined ? [] : [ownerKey])]
  const rows = await store.driver.read<Row>(pageText(store, sources), values)
  return rows.map((row) => recordOf(row, ownerKey))
}

function addressed({ sql }: TaskStore, name: string): string {
  return `SELECT * FROM (SELECT a.place FROM ${sql.addressees} AS a
    WHERE a.name = ${name} AND a.place > CAST($1 AS bigint) ORDER BY a.place LIMIT CAST($2 AS bigint)) AS addressed`
}

function owned({ sql }: TaskStore, owner: string): string {
  return `SELECT * FROM (SELECT q.place FROM ${sql.tasks} AS t JOIN ${sql.questions} AS q ON q.task = t.number
    WHERE t.owner = ${owner} AND t.status = 'input_required' AND q.state = 'open' AND q.approvers IS NULL
      AND q.place > CAST($1 AS bigint) ORDER BY q.place LIMIT CAST($2 AS bigint)) AS owned`
}

function pageText({ sql }: TaskStore, sources: readonly string[]): string {
  return `SELECT q.place, q.wire_key, q.request, q.approvers, q.asked_at, t.id, t.tool, t.owner, t.expires_at, c.caller
    FROM (${sources.join(' UNION ')}) AS found
      JOIN ${sql.questions} AS q ON q.place = found.place
      JOIN ${sql.tasks} AS t ON t.number = q.task
      JOIN ${sql.calls} AS c ON c.task = t.number
    WHERE q.state = 'open' AND t.status = 'input_required' AND ${notExpired(sql)}
    ORDER BY q.place LIMIT CAST($2 AS bigint)`
}

function recordOf(row: Row, ownerKey: string | undefined): OpenQuestionRecord {
  return {
    place: Number(row.place),
    task: readString(row.id),
    tool: readString(row.tool),
    key: readString(row.wire_key),
    request: readEntry(row.request) as InputRequest,
    approvers: row.approvers === null ? undefined : readApprovers(row.approvers),
    askedAt: Number(row.asked_at),
    expiresAt: row.expires_at === null ? null : Number(row.expires_at),
    isOwner: row.owner === ownerKey,
    caller: readObject(row.caller),
  }
}
