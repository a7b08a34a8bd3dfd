import { nextWireKey, readString } from '../../tasks/internal.ts'
import type { Sql } from '../sql.ts'
import type { Store } from './store.ts'

/** A question as it lies in the table: every text is JSON. */
export interface AskText {
  readonly key: string
  readonly question: string | null
  readonly times: number
  readonly request: string
}

/** Puts questions to the owner, each under a key that this task has not used on the wire. */
export async function insertAsks(sql: Sql, { database }: Store, task: string, asks: readonly AskText[]): Promise<void> {
  if (asks.length === 0) return
  const { tables } = database.names
  const rows = await sql.rows<{ wire_key: string; key: string }>(
    `SELECT wire_key, key FROM ${tables}.questions WHERE task = $1`,
    [task],
  )
  const wireKeys = pickWireKeys(rows, asks)
  await sql.rows(
    `INSERT INTO ${tables}.questions (task, wire_key, key, question, times, request, state)
     SELECT $1, wire_key, key, question, times, request, 'open'
     FROM unnest($2::text[], $3::text[], $4::text[], $5::integer[], $6::text[]) WITH ORDINALITY
       AS given (wire_key, key, question, times, request, place)
     ORDER BY place`,
    [
      task,
      wireKeys,
      asks.map(({ key }) => key),
      asks.map(({ question }) => question),
      asks.map(({ times }) => times),
      asks.map(({ request }) => request),
    ],
  )
}

function pickWireKeys(rows: readonly { wire_key: string; key: string }[], asks: readonly AskText[]): string[] {
  const taken = new Set(rows.map(({ wire_key: wireKey }) => wireKey))
  const counts = new Map<string, number>()
  for (const { key } of rows) counts.set(key, (counts.get(key) ?? 0) + 1)
  return asks.map(({ key }) => {
    const asked = counts.get(key) ?? 0
    const wireKey = JSON.stringify(nextWireKey(readString(key), asked, (wire) => taken.has(JSON.stringify(wire))))
    taken.add(wireKey)
    counts.set(key, asked + 1)
    return wireKey
  })
}
