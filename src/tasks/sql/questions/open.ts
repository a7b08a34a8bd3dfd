/**
 * Lists of open questions, and the outcome of one. Each addressee has an index of its questions by their place, so that
 * a page costs the same however many questions wait for others.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { QuestionOutcome } from '../../../server/index.ts'
import type { OpenQuestionQuery, OpenQuestionRecord, QuestionRecord } from '../../engine.ts'
import { readAnswerer, readApprovers, readEntry, readObject, readString, unreadable } from '../../entry.ts'
import { type Dialect, jsonRows } from '../driver.ts'
import { isOpen, keyOf, notExpired, type TaskStore } from '../store.ts'

interface Row {
  readonly place: string | number
  readonly wire_key: string
  readonly request: string | null
  readonly approvers: string | null
  readonly asked_at: string | number
  readonly id: string
  readonly tool: string
  readonly owner: string
  readonly expires_at: string | number | null
  readonly caller: string
  readonly undelivered: unknown
}

const columnsOf = (
  sql: Dialect,
): string => `q.place, q.wire_key, q.request, q.approvers, q.asked_at, t.id, t.tool, t.owner, c.caller,
  coalesce(q.expires_at, t.expires_at) AS expires_at,
  ${sql.jsonArrays('n.name', `${sql.notices} AS n WHERE n.place = q.place AND n.due_at IS NULL`, 'n.name')} AS undelivered`

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
    WHERE t.owner = ${owner} AND ${isOpen(sql)} AND q.approvers IS NULL
      AND q.place > CAST($1 AS bigint) ORDER BY q.place LIMIT CAST($2 AS bigint)) AS owned`
}

function pageText({ sql }: TaskStore, sources: readonly string[]): string {
  return `SELECT ${columnsOf(sql)}
    FROM (${sources.join(' UNION ')}) AS found
      JOIN ${sql.questions} AS q ON q.place = found.place
      JOIN ${sql.tasks} AS t ON t.number = q.task
      JOIN ${sql.calls} AS c ON c.task = t.number
    WHERE ${isOpen(sql)} AND ${notExpired(sql)}
    ORDER BY q.place LIMIT CAST($2 AS bigint)`
}

/** The open ones of these questions, by their places. */
export async function placedQuestions(
  store: TaskStore,
  places: readonly number[],
): Promise<ReadonlyMap<number, OpenQuestionRecord>> {
  if (places.length === 0) return new Map()
  const { sql, driver } = store
  const rows = await driver.read<Row>(
    `SELECT ${columnsOf(sql)} FROM ${sql.questions} AS q
       JOIN ${sql.tasks} AS t ON t.number = q.task JOIN ${sql.calls} AS c ON c.task = t.number
     WHERE ${sql.among('q.place', '$1', 'bigint')} AND ${isOpen(sql)} AND ${notExpired(sql)}`,
    [places],
  )
  return new Map(rows.map((row) => [Number(row.place), recordOf(row, undefined)]))
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
    undelivered: jsonRows(row.undelivered).map(([name]) => String(name)),
  }
}

interface KnownRow extends Row {
  readonly state: string
  readonly is_over: number
  readonly response: string | null
  readonly answered_by: string | null
  readonly way: string | null
  readonly closed_at: string | number | null
}

export async function knownQuestion(
  store: TaskStore,
  id: string,
  key: string,
  owner: string | undefined,
): Promise<QuestionRecord | undefined> {
  const { sql, driver } = store
  const [row] = await driver.read<KnownRow>(
    `SELECT ${columnsOf(sql)}, q.state, q.response, q.answered_by, q.way, q.closed_at,
       CASE WHEN q.expires_at <= ${sql.now} THEN 1 ELSE 0 END AS is_over
     FROM ${sql.tasks} AS t
       JOIN ${sql.questions} AS q ON q.task = t.number JOIN ${sql.calls} AS c ON c.task = t.number
     WHERE t.address = $1 AND q.wire_key = $2 AND ${notExpired(sql)}`,
    [keyOf(store, id), JSON.stringify(key)],
  )
  // A question that was answered before its call became a task has no request.
  if (row === undefined || row.request === null) return undefined
  return { ...recordOf(row, owner === undefined ? undefined : keyOf(store, owner)), outcome: outcomeOf(row) }
}

function outcomeOf(row: KnownRow): QuestionOutcome {
  const at = row.closed_at === null ? undefined : Number(row.closed_at)
  switch (row.state) {
    case 'open':
      return row.is_over === 1 ? { state: 'expired', at: Number(row.expires_at) } : { state: 'open' }
    case 'answered': {
      const { action } = readObject(row.response)
      const by = row.answered_by === null ? undefined : readAnswerer(row.answered_by)
      const way = WAYS.find((known) => known === row.way)
      return { state: action === 'decline' ? 'declined' : action === 'cancel' ? 'cancelled' : 'answered', at, by, way }
    }
    case 'expired':
      return { state: 'expired', at: Number(row.expires_at) }
    // A refused answer closed it too: it is asked again as another question.
    case 'refused':
    case 'withdrawn':
      return { state: 'withdrawn', at }
    default:
      throw unreadable()
  }
}

const WAYS = ['client', 'page', 'console', 'program', 'model'] as const
