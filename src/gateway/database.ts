/** What gateways have in common by way of PostgreSQL: who serves which caller, news, claims, states of calls that ask, and counted requests. */
import type { EventBus, ServerOptions } from '../server/index.ts'
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
} from '../postgres/internal.ts'
import type { GatewayConfig, GatewaySettings } from './config/index.ts'
import { Leases, type LeasesOptions } from './leases/leases.ts'
import { GATEWAY_INFO } from './version.ts'

type LeaseParts = Pick<LeasesOptions, 'address' | 'reached' | 'logger'>

interface DatabaseOptions extends Pick<GatewayConfig, 'settings'>, Pick<ServerOptions, 'keys'> {
  readonly postgres?: PostgresConnection
}

/** Before anything is served: a database that can never be used is told at once. One that is away is tried again later. */
export async function assertDatabaseUsable({ postgres: url }: Pick<GatewaySettings, 'postgres'>): Promise<void> {
  if (url !== undefined) await assertPgInstalled()
}

/** Undefined where the gateway has none. */
export function openDatabase(options: DatabaseOptions, parts: LeaseParts): GatewayDatabase | undefined {
  const hasOne = options.postgres !== undefined || options.settings.postgres !== undefined
  return hasOne ? new GatewayDatabase(options, parts) : undefined
}

/** Questions and answers of calls wait for their claims and states. */
const ANSWERS_WITHIN_MS = 3000

export class GatewayDatabase {
  readonly leases: Leases
  readonly ledger: Ledger
  readonly rates: RateStore
  /** States of calls that ask clients of the session era, so that another gateway can go on with them. */
  readonly store: CarryStore
  readonly #connection: PostgresConnection
  readonly #isOwn: boolean
  readonly #buses = new Map<string, ReturnType<typeof postgresBus>>()

  /** The connections of an address in the settings are closed in the end, the application's own are not. */
  constructor({ settings, postgres: given, keys = settings.keys }: DatabaseOptions, parts: LeaseParts) {
    this.#isOwn = given === undefined
    this.#connection = given ?? postgres({ url: settings.postgres ?? '' })
    const impatience = new Impatience(ANSWERS_WITHIN_MS, () => this.leases.trouble !== undefined)
    this.ledger = impatientLedger(postgresLedger(this.#connection), impatience)
    this.store = impatientStore(postgresCarryStore(this.#connection), impatience)
    this.rates = postgresRates(this.#connection)
    this.leases = new Leases({
      connection: this.#connection,
      keyring: keyringOf({ ...GATEWAY_INFO, ...(keys !== undefined && { keys }) }),
      audience: GATEWAY_INFO.name,
      leaseMs: settings.leaseSeconds * 1000,
      ...parts,
    })
  }

  /** The news of one route, which other routes do not hear. */
  readonly busOf = (path: string): EventBus => {
    const bus = this.#buses.get(path) ?? postgresBus(this.#connection, { audience: `${GATEWAY_INFO.name} ${path}` })
    this.#buses.set(path, bus)
    return bus
  }

  async close(): Promise<void> {
    await this.leases.leave()
    await Promise.all(Array.from(this.#buses.values(), (bus) => bus.close()))
    if (this.#isOwn) await this.#connection.close()
  }
}
