/**
 * Which gateway serves which caller of a stateful server: claims of callers, each with a key, an owner and a
 * generation.
 *
 * - A claim is valid while its owner's lease is. A gateway renews one lease for all its callers. Times are those of the
 *   database.
 * - A caller is claimed from another gateway only after that gateway's lease has expired, under a lock on its row. So
 *   either the lease is renewed, or the caller is claimed, never both.
 * - A gateway that is known to have ended is removed, and its callers are free. If it is alive after all, its next
 *   renewal fails.
 * - Each claim has a new generation, which ends the links and sessions of earlier ones.
 *
 * Keys are digests of servers and callers. Sessions are stored as their gateway has sealed them.
 */
import { type Database, databaseOf, type PostgresConnection } from './database.ts'
import { digest } from './digest.ts'
import type { Sql } from './sql.ts'

export interface PlacedCaller {
  readonly server: string
  readonly caller: string
  /** Lifetime of its session while no gateway serves the caller. */
  readonly idleMs: number
}

/** A claim of this gateway. */
export interface OwnClaim {
  readonly key: string
  readonly owner: string
  readonly generation: string
}

export type PlaceOfCaller =
  | { readonly kind: 'here'; readonly generation: string; readonly session: string | undefined }
  | { readonly kind: 'elsewhere'; readonly owner: PlacedGateway }
  /** The lease of this gateway has expired, or it was removed. */
  | { readonly kind: 'unleased' }

export type ClaimFromOther =
  | { readonly kind: 'claimed' }
  /** Remaining time of the other gateway's lease, which it may renew. A stopping gateway releases its callers. */
  | { readonly kind: 'leased'; readonly leftMs: number; readonly isStopping: boolean }

export interface PlacedGateway {
  readonly id: string
  /** The address at which other gateways reach it, if any. */
  readonly address: string | undefined
}

/** A session that was unused for its whole lifetime. */
export interface AbandonedSession {
  readonly key: string
  readonly session: string
}

interface PlaceRow {
  readonly is_leased: boolean
  readonly is_claimed: boolean
  readonly generation: string | null
  readonly session: string | null
  readonly owner: string | null
  readonly address: string | null
}

/** Maximum time between two statements of a transaction. */
const IDLE_MS = 2000
const SWEEP_BATCH = 100
const MAX_OTHERS = 100
/** Time from the end of its lease to the removal of a gateway. */
const REMOVED_AFTER_MS = 60_000
/** Lifetime of a session whose server no gateway serves. */
const FORGOTTEN_AFTER_MS = 86_400_000

export function placementKey({ server, caller }: Pick<PlacedCaller, 'server' | 'caller'>): string {
  return digest('placement', server, caller).toString('hex')
}

export class Placements {
  readonly #database: Database
  readonly #gateways: string
  readonly #placements: string
  readonly #generation: string

  constructor(connection: PostgresConnection) {
    this.#database = databaseOf(connection)
    const { tables } = this.#database.names
    this.#gateways = `${tables}.gateways`
    this.#placements = `${tables}.placements`
    this.#generation = `nextval('${tables}.placement_generations')`
  }

  /** Adds a gateway, and removes any earlier one at its address. */
  async enter({ id, address }: PlacedGateway, leaseMs: number): Promise<void> {
    await this.#transaction(async (sql) => {
      const before = `SELECT id FROM ${this.#gateways} WHERE address = $1 FOR UPDATE`
      const found = address === undefined ? [] : await sql.rows<{ id: string }>(before, [address])
      for (const each of found) await this.#remove(sql, each.id)
      await sql.rows(`INSERT INTO ${this.#gateways} (id, address, until) VALUES ($1, $2, ${later('$3')})`, [
        id,
        address ?? null,
        leaseMs,
      ])
    })
  }

  /** Renews a lease; returns false if the gateway was removed. */
  async renew({ id, address }: PlacedGateway, leaseMs: number, isStopping: boolean, limitMs: number): Promise<boolean> {
    const sql = await this.#database.statements(limitMs)
    const renewed = await sql.rows(
      `UPDATE ${this.#gateways} SET until = ${later('$3')}, address = $2, stopping = $4 WHERE id = $1 RETURNING id`,
      [id, address ?? null, leaseMs, isStopping],
    )
    return renewed.length > 0
  }

  /** Removes a gateway that ends; its callers are free. */
  async leave(id: string): Promise<void> {
    await this.#transaction((sql) => this.#remove(sql, id))
  }

  /** The claims of a gateway: their generations by key. */
  async held(owner: string): Promise<ReadonlyMap<string, string>> {
    const text = `SELECT encode(key, 'hex') AS key, generation::text AS generation FROM ${this.#placements} WHERE owner = $1`
    const rows = await this.#rows<{ key: string; generation: string }>(text, [owner])
    return new Map(rows.map(({ key, generation }) => [key, generation]))
  }

  /** The other gateways with a lease. */
  async others(id: string): Promise<readonly PlacedGateway[]> {
    const text = `SELECT id, address FROM ${this.#gateways} WHERE id <> $1 AND until > now() LIMIT $2`
    const rows = await this.#rows<{ id: string; address: string | null }>(text, [id, MAX_OTHERS])
    return rows.map((other) => ({ id: other.id, address: other.address ?? undefined }))
  }

  /**
   * Claims a caller without an owner. An earlier claim of this gateway keeps its generation; with `isFresh` it gets a new
   * one, without the session of the earlier one.
   */
  async claim(owner: string, caller: PlacedCaller, isFresh = false): Promise<PlaceOfCaller> {
    const [row] = await this.#rows<PlaceRow>(
      `WITH leased AS (
         SELECT FROM ${this.#gateways} WHERE id = $3 AND until > now() FOR KEY SHARE
       ), claimed AS (
         INSERT INTO ${this.#placements} AS p (key, server, owner, generation, idle_ms)
         SELECT $1::bytea, $2::bytea, $3::uuid, ${this.#generation}, $4::float8 FROM leased
         ON CONFLICT (key) DO UPDATE SET
           owner = excluded.owner, freed_at = NULL, idle_ms = excluded.idle_ms,
           generation = CASE WHEN p.owner = excluded.owner AND NOT $5 THEN p.generation ELSE excluded.generation END,
           session = CASE WHEN p.owner = excluded.owner AND $5 THEN NULL ELSE p.session END
           WHERE p.owner IS NULL OR p.owner = excluded.owner
         RETURNING generation, session
       )
       SELECT EXISTS (SELECT FROM leased) AS is_leased, c.generation IS NOT NULL AS is_claimed,
         c.generation::text AS generation, c.session, p.owner, g.address
       FROM (SELECT) AS once
         LEFT JOIN claimed AS c ON true
         LEFT JOIN ${this.#placements} AS p ON p.key = $1
         LEFT JOIN ${this.#gateways} AS g ON g.id = p.owner`,
      [bytesOf(placementKey(caller)), digest(caller.server), owner, caller.idleMs, isFresh],
    )
    return placeOf(row)
  }

  /** Claims a caller from a gateway whose lease has expired, or which has ended without notice. */
  async claimFrom(other: string, owner: string, caller: PlacedCaller, hasEnded: boolean): Promise<ClaimFromOther> {
    return this.#transaction(async (sql) => {
      const [found] = await sql.rows<{ left_ms: number; stopping: boolean }>(
        `SELECT extract(epoch FROM until - now())::float8 * 1000 AS left_ms, stopping
         FROM ${this.#gateways} WHERE id = $1 FOR UPDATE`,
        [other],
      )
      const isGone = found === undefined || (hasEnded && !found.stopping)
      if (isGone) await this.#remove(sql, other)
      else if (found.left_ms > 0) return { kind: 'leased', leftMs: found.left_ms, isStopping: found.stopping }
      await sql.rows(
        `UPDATE ${this.#placements} SET owner = $3, freed_at = NULL, generation = ${this.#generation}
         WHERE key = $1 AND (owner = $2 OR owner IS NULL)
           AND EXISTS (SELECT FROM ${this.#gateways} WHERE id = $3 AND until > now())`,
        [bytesOf(placementKey(caller)), other, owner],
      )
      return { kind: 'claimed' }
    })
  }

  /** Stores the session of a caller; returns false if another gateway has claimed the caller. */
  async keepSession({ key, owner, generation }: OwnClaim, session: string): Promise<boolean> {
    const text = `UPDATE ${this.#placements} SET session = $4 WHERE ${CLAIM} RETURNING key`
    return (await this.#rows(text, [bytesOf(key), owner, generation, session])).length > 0
  }

  /** Releases a caller. `isHandedOff`: another gateway may resume the session. */
  async release({ key, owner, generation }: OwnClaim, isHandedOff: boolean): Promise<void> {
    const text = isHandedOff
      ? `UPDATE ${this.#placements} SET owner = NULL, freed_at = now() WHERE ${CLAIM}`
      : `DELETE FROM ${this.#placements} WHERE ${CLAIM}`
    await this.#rows(text, [bytesOf(key), owner, generation])
  }

  /**
   * Removes gateways that are long gone, and abandoned sessions. Returns the sessions at these servers, which have to
   * be ended.
   */
  async sweep(servers: readonly string[]): Promise<readonly AbandonedSession[]> {
    await this.#transaction(async (sql) => {
      const gone = await sql.rows<{ id: string }>(
        `SELECT id FROM ${this.#gateways} WHERE until < ${later('$1')} LIMIT $2 FOR UPDATE SKIP LOCKED`,
        [-REMOVED_AFTER_MS, SWEEP_BATCH],
      )
      for (const { id } of gone) await this.#remove(sql, id)
    })
    const rows = await this.#rows<{ key: string; session: string | null }>(
      `WITH abandoned AS (
         SELECT key FROM ${this.#placements}
         WHERE owner IS NULL AND freed_at + idle_ms * interval '1 millisecond' <= now()
           AND (session IS NULL OR server = ANY ($1) OR freed_at <= ${later('$2')})
         LIMIT $3 FOR UPDATE SKIP LOCKED
       )
       DELETE FROM ${this.#placements} AS p USING abandoned AS a WHERE p.key = a.key
       RETURNING encode(p.key, 'hex') AS key, p.session`,
      [servers.map((server) => digest(server)), -FORGOTTEN_AFTER_MS, SWEEP_BATCH],
    )
    return rows.flatMap(({ key, session }) => (session === null ? [] : [{ key, session }]))
  }

  async #remove(sql: Sql, id: string): Promise<void> {
    await sql.rows(`DELETE FROM ${this.#gateways} WHERE id = $1`, [id])
    await sql.rows(`UPDATE ${this.#placements} SET owner = NULL, freed_at = now() WHERE owner = $1`, [id])
  }

  async #rows<Row>(text: string, values: unknown[]): Promise<Row[]> {
    return (await this.#database.statements()).rows<Row>(text, values)
  }

  #transaction<Result>(run: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#database.transaction({ idleMs: IDLE_MS }, run)
  }
}

/** SQL for a time this many milliseconds from now. */
function later(parameter: string): string {
  return `now() + ${parameter}::float8 * interval '1 millisecond'`
}

/** SQL that selects the row of a claim. */
const CLAIM = 'key = $1 AND owner = $2 AND generation = $3'

function bytesOf(key: string): Buffer {
  return Buffer.from(key, 'hex')
}

/**
 * The place in a row. A statement sees rows as they were before it, so a caller that was claimed concurrently may
 * appear without an owner.
 */
function placeOf(row: PlaceRow | undefined): PlaceOfCaller {
  if (row?.is_claimed) return { kind: 'here', generation: String(row.generation), session: row.session ?? undefined }
  if (!row?.is_leased) return { kind: 'unleased' }
  return { kind: 'elsewhere', owner: { id: row.owner ?? '', address: row.address ?? undefined } }
}
