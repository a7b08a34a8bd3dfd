/**
 * Which gateway serves which caller of a server that keeps something for each of them.
 *
 * - A gateway has a lease, which it renews; all its callers are under it. Times are those of the database.
 * - A caller is taken from another gateway only while the lease of that one is over, and its row is locked meanwhile: so
 *   either the lease is renewed, or the caller is taken, and never both.
 * - A gateway that is known to have ended is removed, and its callers are free. Should it be there all the same, it finds
 *   that it is removed when it renews its lease.
 * - An epoch is new each time that a caller is taken: what a gateway has of an earlier one is over.
 *
 * The table has digests of callers and of servers, and sessions as their gateway has sealed them.
 */
import { type Database, databaseOf, type PostgresConnection } from './database.ts'
import { digest } from './digest.ts'
import type { Sql } from './sql.ts'

/** A caller of a server. */
export interface PlacedCaller {
  readonly server: string
  readonly caller: string
  /** How long its session is kept when no gateway has it. */
  readonly idleMs: number
}

export type PlaceOfCaller =
  | { readonly kind: 'here'; readonly epoch: string; readonly session: string | undefined }
  | { readonly kind: 'elsewhere'; readonly gateway: PlacedGateway }
  /** The lease of this gateway is over, or it was removed. */
  | { readonly kind: 'unleased' }

export type Taking =
  | { readonly kind: 'taken' }
  /** The other gateway has its lease for this time, and longer where it renews it. A stopping one releases its callers. */
  | { readonly kind: 'leased'; readonly leftMs: number; readonly isStopping: boolean }

export interface PlacedGateway {
  readonly id: string
  /** Where it is reached; undefined where it has no address. */
  readonly address: string | undefined
}

/** A session that nobody has used for its time. */
export interface AbandonedSession {
  /** Names the row that it was in. */
  readonly id: string
  readonly session: string
}

interface PlaceRow {
  readonly is_leased: boolean
  readonly is_taken: boolean
  readonly epoch: string | null
  readonly session: string | null
  readonly gateway: string | null
  readonly address: string | null
}

/** So long a transaction may wait for its process. */
const IDLE_MS = 2000
const SWEEP_BATCH = 100
const MAX_OTHERS = 100
/** A gateway whose lease is over for so long does not come back for its callers. */
const REMOVED_AFTER_MS = 60_000
/** A session of a server that no gateway serves any more is forgotten after so long. */
const FORGOTTEN_AFTER_MS = 86_400_000

/** Names the row of a caller. */
export function placementId({ server, caller }: Pick<PlacedCaller, 'server' | 'caller'>): string {
  return digest('placement', server, caller).toString('hex')
}

export class Placements {
  readonly #database: Database
  readonly #gateways: string
  readonly #placements: string
  readonly #epoch: string

  constructor(connection: PostgresConnection) {
    this.#database = databaseOf(connection)
    const { tables } = this.#database.names
    this.#gateways = `${tables}.gateways`
    this.#placements = `${tables}.placements`
    this.#epoch = `nextval('${tables}.placement_epochs')`
  }

  /** A new gateway, in the place of any that was at its address before. */
  async enter({ id, address }: PlacedGateway, leaseMs: number): Promise<void> {
    await this.#transaction(async (sql) => {
      const before = `SELECT id FROM ${this.#gateways} WHERE address = $1 FOR UPDATE`
      const found = address === undefined ? [] : await sql.rows<{ id: string }>(before, [address])
      for (const each of found) await this.#remove(sql, each.id)
      await sql.rows(`INSERT INTO ${this.#gateways} (id, address, leased_until) VALUES ($1, $2, ${later('$3')})`, [
        id,
        address ?? null,
        leaseMs,
      ])
    })
  }

  /** False where the gateway was removed. */
  async renew({ id, address }: PlacedGateway, leaseMs: number, isStopping: boolean, limitMs: number): Promise<boolean> {
    const sql = await this.#database.statements(limitMs)
    const renewed = await sql.rows(
      `UPDATE ${this.#gateways} SET leased_until = ${later('$3')}, address = $2, stopping = $4 WHERE id = $1 RETURNING id`,
      [id, address ?? null, leaseMs, isStopping],
    )
    return renewed.length > 0
  }

  /** The gateway ends; its callers are free. */
  async leave(id: string): Promise<void> {
    await this.#transaction((sql) => this.#remove(sql, id))
  }

  /** The callers that a gateway has, by their rows, with the epochs since when. */
  async held(id: string): Promise<ReadonlyMap<string, string>> {
    const text = `SELECT encode(id, 'hex') AS id, epoch::text AS epoch FROM ${this.#placements} WHERE gateway = $1`
    const rows = await this.#rows<{ id: string; epoch: string }>(text, [id])
    return new Map(rows.map(({ id: row, epoch }) => [row, epoch]))
  }

  /** The other gateways whose leases are not over. */
  async others(id: string): Promise<readonly PlacedGateway[]> {
    const text = `SELECT id, address FROM ${this.#gateways} WHERE id <> $1 AND leased_until > now() LIMIT $2`
    const rows = await this.#rows<{ id: string; address: string | null }>(text, [id, MAX_OTHERS])
    return rows.map((other) => ({ id: other.id, address: other.address ?? undefined }))
  }

  /**
   * Takes a caller whom nobody has. One that this gateway has keeps its epoch, unless the caller begins anew: then what was
   * kept under the epoch before is not theirs any more.
   */
  async claim(gateway: string, caller: PlacedCaller, isAnew = false): Promise<PlaceOfCaller> {
    const [row] = await this.#rows<PlaceRow>(
      `WITH leased AS (
         SELECT FROM ${this.#gateways} WHERE id = $3 AND leased_until > now() FOR KEY SHARE
       ), taken AS (
         INSERT INTO ${this.#placements} AS p (id, server, gateway, epoch, idle_ms)
         SELECT $1::bytea, $2::bytea, $3::uuid, ${this.#epoch}, $4::float8 FROM leased
         ON CONFLICT (id) DO UPDATE SET
           gateway = excluded.gateway, freed_at = NULL, idle_ms = excluded.idle_ms,
           epoch = CASE WHEN p.gateway = excluded.gateway AND NOT $5 THEN p.epoch ELSE excluded.epoch END,
           session = CASE WHEN p.gateway = excluded.gateway AND $5 THEN NULL ELSE p.session END
           WHERE p.gateway IS NULL OR p.gateway = excluded.gateway
         RETURNING epoch, session
       )
       SELECT EXISTS (SELECT FROM leased) AS is_leased, t.epoch IS NOT NULL AS is_taken, t.epoch::text AS epoch, t.session,
         p.gateway, g.address
       FROM (SELECT) AS once
         LEFT JOIN taken AS t ON true
         LEFT JOIN ${this.#placements} AS p ON p.id = $1
         LEFT JOIN ${this.#gateways} AS g ON g.id = p.gateway`,
      [Buffer.from(placementId(caller), 'hex'), digest(caller.server), gateway, caller.idleMs, isAnew],
    )
    return placeOf(row)
  }

  /**
   * Takes a caller from a gateway whose lease is over, or which is known to have ended and did not say that it would.
   */
  async takeFrom(other: string, gateway: string, caller: PlacedCaller, hasEnded: boolean): Promise<Taking> {
    return this.#transaction(async (sql) => {
      const [found] = await sql.rows<{ left_ms: number; stopping: boolean }>(
        `SELECT extract(epoch FROM leased_until - now())::float8 * 1000 AS left_ms, stopping
         FROM ${this.#gateways} WHERE id = $1 FOR UPDATE`,
        [other],
      )
      const isGone = found === undefined || (hasEnded && !found.stopping)
      if (isGone) await this.#remove(sql, other)
      else if (found.left_ms > 0) return { kind: 'leased', leftMs: found.left_ms, isStopping: found.stopping }
      await sql.rows(
        `UPDATE ${this.#placements} SET gateway = $3, freed_at = NULL, epoch = ${this.#epoch}
         WHERE id = $1 AND (gateway = $2 OR gateway IS NULL)
           AND EXISTS (SELECT FROM ${this.#gateways} WHERE id = $3 AND leased_until > now())`,
        [Buffer.from(placementId(caller), 'hex'), other, gateway],
      )
      return { kind: 'taken' }
    })
  }

  /** False where the caller was taken by another gateway. */
  async keepSession(gateway: string, id: string, epoch: string, session: string): Promise<boolean> {
    const text = `UPDATE ${this.#placements} SET session = $4 WHERE id = $1 AND gateway = $2 AND epoch = $3 RETURNING id`
    return (await this.#rows(text, [Buffer.from(id, 'hex'), gateway, epoch, session])).length > 0
  }

  /** Gives up a caller: nothing of theirs is left, or another gateway may go on with their session. */
  async release(gateway: string, id: string, epoch: string, isHandedOn: boolean): Promise<void> {
    const row = 'WHERE id = $1 AND gateway = $2 AND epoch = $3'
    const text = isHandedOn
      ? `UPDATE ${this.#placements} SET gateway = NULL, freed_at = now() ${row}`
      : `DELETE FROM ${this.#placements} ${row}`
    await this.#rows(text, [Buffer.from(id, 'hex'), gateway, epoch])
  }

  /** Removes gateways that are long gone, and what nobody has come back for. Gives sessions of these servers to be ended. */
  async sweep(servers: readonly string[]): Promise<readonly AbandonedSession[]> {
    await this.#transaction(async (sql) => {
      const gone = await sql.rows<{ id: string }>(
        `SELECT id FROM ${this.#gateways} WHERE leased_until < ${later('$1')} LIMIT $2 FOR UPDATE SKIP LOCKED`,
        [-REMOVED_AFTER_MS, SWEEP_BATCH],
      )
      for (const { id } of gone) await this.#remove(sql, id)
    })
    const rows = await this.#rows<{ id: string; session: string | null }>(
      `WITH abandoned AS (
         SELECT id FROM ${this.#placements}
         WHERE gateway IS NULL AND freed_at + idle_ms * interval '1 millisecond' <= now()
           AND (session IS NULL OR server = ANY ($1) OR freed_at <= ${later('$2')})
         LIMIT $3 FOR UPDATE SKIP LOCKED
       )
       DELETE FROM ${this.#placements} AS p USING abandoned AS a WHERE p.id = a.id
       RETURNING encode(p.id, 'hex') AS id, p.session`,
      [servers.map((server) => digest(server)), -FORGOTTEN_AFTER_MS, SWEEP_BATCH],
    )
    return rows.flatMap(({ id, session }) => (session === null ? [] : [{ id, session }]))
  }

  async #remove(sql: Sql, id: string): Promise<void> {
    await sql.rows(`DELETE FROM ${this.#gateways} WHERE id = $1`, [id])
    await sql.rows(`UPDATE ${this.#placements} SET gateway = NULL, freed_at = now() WHERE gateway = $1`, [id])
  }

  async #rows<Row>(text: string, values: unknown[]): Promise<Row[]> {
    return (await this.#database.statements()).rows<Row>(text, values)
  }

  #transaction<Result>(run: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#database.transaction({ idleMs: IDLE_MS }, run)
  }
}

/** A time from now on, in milliseconds. */
function later(parameter: string): string {
  return `now() + ${parameter}::float8 * interval '1 millisecond'`
}

/** A statement sees rows as they were before it, so that a caller who was taken just now may have nobody there. */
function placeOf(row: PlaceRow | undefined): PlaceOfCaller {
  if (row?.is_taken) return { kind: 'here', epoch: String(row.epoch), session: row.session ?? undefined }
  if (!row?.is_leased) return { kind: 'unleased' }
  return { kind: 'elsewhere', gateway: { id: row.gateway ?? '', address: row.address ?? undefined } }
}
