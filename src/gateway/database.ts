/**
 * The state that gateways share in PostgreSQL: leases of callers, events, claims, states of calls that ask, and rate
 * limits.
 */
import { dirname, resolve } from 'node:path'
import type { EventBus, ServerOptions, Tasks } from '../server/index.ts'
import { keyringOf } from '../server/internal.ts'
import type { CarryStore, Ledger, RateStore } from '../state/stores/index.ts'
import {
  assertPgInstalled,
  Impatience,
  impatientLedger,
  impatientStore,
  postgres,
  postgresBus,
  postgresCarryStore,
  type PostgresConnection,
  postgresLedger,
  postgresRates,
  postgresSharedText,
  postgresTasks,
  type SharedText,
} from '../postgres/internal.ts'
import { databasePins, memoryPins, pinFile, pinPath, type PinStore } from './catalog/index.ts'
import { type GatewayConfig, type GatewaySettings, PINS_IN_POSTGRES } from './config/index.ts'
import { Leases, type LeasesOptions } from './placement/leases.ts'
import { GATEWAY_INFO } from './version.ts'

type LeaseParts = Pick<LeasesOptions, 'address' | 'reached' | 'logger'>

interface DatabaseOptions extends Pick<GatewayConfig, 'settings'>, Pick<ServerOptions, 'keys'> {
  readonly postgres?: PostgresConnection
}

/** Throws before anything is served if the database can never be used. A database that is down is retried later. */
export async function assertDatabaseUsable({ postgres: url }: Pick<GatewaySettings, 'postgres'>): Promise<void> {
  if (url !== undefined) await assertPgInstalled()
}

export function sharedPins(connection: PostgresConnection): SharedText {
  return postgresSharedText(connection, 'pins')
}

/** The store of the pins: the place in the settings, else a file beside mcp.json, else memory. */
export function pinStoreOf(
  { file, settings: { pins } }: Pick<GatewayConfig, 'file' | 'settings'>,
  shared: SharedText | undefined,
): PinStore {
  if (pins === PINS_IN_POSTGRES) {
    if (shared === undefined) throw new TypeError(PINS_NEED_DATABASE)
    return databasePins(shared)
  }
  if (pins !== undefined) return pinFile(file === undefined ? pins : resolve(dirname(file), pins))
  return file === undefined ? memoryPins() : pinFile(pinPath(file))
}

const PINS_NEED_DATABASE =
  '"pins": "postgres" needs a database: "postgres" under "gateway" in the file, or --postgres URL.'

/** Returns undefined if the gateway has no database. */
export function openDatabase(options: DatabaseOptions, parts: LeaseParts): GatewayDatabase | undefined {
  const hasOne = options.postgres !== undefined || options.settings.postgres !== undefined
  return hasOne ? new GatewayDatabase(options, parts) : undefined
}

/** Query timeout of claims and states, because questions and answers of calls wait for them. */
const ANSWERS_WITHIN_MS = 3000

export class GatewayDatabase {
  readonly leases: Leases
  readonly ledger: Ledger
  readonly rates: RateStore
  /** States of calls that ask session-era clients, so that another gateway can resume them. */
  readonly store: CarryStore
  /** The pinned tool definitions, if the settings place them in the database. */
  readonly pins: SharedText
  readonly #connection: PostgresConnection
  readonly #isOwn: boolean
  readonly #buses = new Map<string, ReturnType<typeof postgresBus>>()

  /** Closes only connections that it opened from the settings, not those of the application. */
  constructor({ settings, postgres: given, keys = settings.keys }: DatabaseOptions, parts: LeaseParts) {
    this.#isOwn = given === undefined
    this.#connection = given ?? postgres({ url: settings.postgres ?? '' })
    const impatience = new Impatience(ANSWERS_WITHIN_MS, () => this.leases.gateway.trouble !== undefined)
    this.ledger = impatientLedger(postgresLedger(this.#connection), impatience)
    this.store = impatientStore(postgresCarryStore(this.#connection), impatience)
    this.rates = postgresRates(this.#connection)
    this.pins = sharedPins(this.#connection)
    this.leases = new Leases({
      connection: this.#connection,
      keyring: keyringOf({ ...GATEWAY_INFO, ...(keys !== undefined && { keys }) }),
      audience: GATEWAY_INFO.name,
      leaseMs: settings.leaseSeconds * 1000,
      ...parts,
    })
  }

  /** The event bus of one route, separate from other routes. */
  readonly busOf = (path: string): EventBus => {
    const bus = this.#buses.get(path) ?? postgresBus(this.#connection, { audience: `${GATEWAY_INFO.name} ${path}` })
    this.#buses.set(path, bus)
    return bus
  }

  /** Where calls wait for people. */
  get tasks(): Tasks {
    return postgresTasks(this.#connection)
  }

  async close(): Promise<void> {
    await this.leases.leave()
    await Promise.all(Array.from(this.#buses.values(), (bus) => bus.close()))
    if (this.#isOwn) await this.#connection.close()
  }
}
