/** The table of a bus: the statements on it, and how long an event lives. */
import type { Database } from '../database.ts'

/** Lifetime of an event in the table, and its maximum wait to be written. */
export const EVENT_LIFE_MS = 120_000

/** Maximum number of bytes that one statement writes or reads. A larger event is written alone. */
export const MAX_BATCH = { events: 500, bytes: 1 << 20 }

/** Backoff of failed statements. */
export const RETRY = { firstMs: 100, maxMs: 5000 }

const SWEEP_BATCH = 1000

export interface NumberedEvent {
  /** Counts the events of a publisher, from 1. */
  readonly number: number
  readonly text: string
}

export class BusTable {
  readonly #database: Database
  readonly #name: string
  readonly #audience: Buffer
  readonly #publisher: string

  constructor(database: Database, audience: Buffer, publisher: string) {
    this.#database = database
    this.#name = `${database.names.tables}.bus_events`
    this.#audience = audience
    this.#publisher = publisher
  }

  get isClosed(): boolean {
    return this.#database.isClosed
  }

  /** Writes events of this publisher. Events that are already there, because a response was lost, stay as they are. */
  async insert(events: readonly NumberedEvent[]): Promise<void> {
    await this.#database.rows(
      `INSERT INTO ${this.#name} (publisher, number, audience, event, expires_at)
       SELECT $1::uuid, e.number, $2::bytea, e.event, now() + $5::float8 * interval '1 millisecond'
       FROM unnest($3::bigint[], $4::text[]) AS e (number, event)
       ON CONFLICT DO NOTHING`,
      [
        this.#publisher,
        this.#audience,
        events.map(({ number }) => number),
        events.map(({ text }) => text),
        EVENT_LIFE_MS,
      ],
    )
  }

  /** The other publishers with events of at most this age, and the number of their newest one. */
  publishers(maxAgeMs: number): Promise<{ publisher: string; newest: number }[]> {
    return this.#database.rows(
      `SELECT publisher, max(number)::float8 AS newest FROM ${this.#name}
       WHERE audience = $1 AND publisher <> $2 AND expires_at > now() + $3::float8 * interval '1 millisecond'
       GROUP BY publisher`,
      [this.#audience, this.#publisher, EVENT_LIFE_MS - maxAgeMs],
    )
  }

  /** The next batch of events of a publisher, of at most this age, in order. */
  async read(
    publisher: string,
    after: number,
    maxAgeMs: number,
  ): Promise<{ events: NumberedEvent[]; isFull: boolean }> {
    const events = await this.#database.rows<NumberedEvent>(
      `SELECT number::float8 AS number, event AS text FROM (
         SELECT number, event, sum(octet_length(event)) OVER (ORDER BY number) - octet_length(event) AS bytes_before
         FROM (
           SELECT number, event FROM ${this.#name}
           WHERE publisher = $1 AND audience = $2 AND number > $3
             AND expires_at > now() + $4::float8 * interval '1 millisecond'
           ORDER BY number LIMIT $5
         ) AS next
       ) AS sized
       WHERE bytes_before < $6 ORDER BY sized.number`,
      [publisher, this.#audience, after, EVENT_LIFE_MS - maxAgeMs, MAX_BATCH.events, MAX_BATCH.bytes],
    )
    const bytes = events.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
    return { events, isFull: events.length === MAX_BATCH.events || bytes >= MAX_BATCH.bytes }
  }

  async removeExpired(): Promise<void> {
    const text = `DELETE FROM ${this.#name} WHERE (publisher, number) IN (
        SELECT publisher, number FROM ${this.#name} WHERE expires_at <= now() LIMIT $1 FOR UPDATE SKIP LOCKED
      ) RETURNING number`
    let removed: unknown[]
    do removed = await this.#database.rows(text, [SWEEP_BATCH])
    while (removed.length === SWEEP_BATCH)
  }
}
