/** Leases of callers in PostgreSQL, for all stateful servers of this gateway. */
import type { Keyring } from '../../state/seal/index.ts'
import { type PostgresConnection, Placements } from '../../postgres/internal.ts'
import { type Logger, errorDetails } from '../../server/internal.ts'
import { unref } from '../../protocol/index.ts'
import { GatewayLease } from './gatewayLease.ts'
import { ServerLeases, type Unreleased } from './serverLeases.ts'
import type { UpstreamSession } from '../links/link.ts'
import { UpstreamSessions } from './upstreamSessions.ts'

export interface LeasesOptions {
  readonly connection: PostgresConnection
  readonly keyring: Keyring
  readonly audience: string
  readonly leaseMs: number
  /** The address at which other gateways reach this one, as far as known. */
  readonly address: () => string | undefined
  /** Resolves when that address is known. */
  readonly reached: () => Promise<void>
  readonly logger: () => Logger
}

/** A server with leased callers. */
export interface LeasedServer {
  readonly name: string
  /** Undefined for a program. */
  readonly url: string | undefined
  readonly idleMs: number
  /** Ends an unused session. */
  readonly endSession: (session: UpstreamSession) => Promise<void>
}

const SWEEP_EVERY_MS = 5000

export class Leases {
  readonly #options: LeasesOptions
  readonly #placements: Placements
  readonly #gateway: GatewayLease
  readonly #sessions: UpstreamSessions
  readonly #servers = new Map<ServerLeases, LeasedServer>()
  readonly #unreleased = new Map<string, Unreleased>()
  #sweeping: ReturnType<typeof setTimeout> | undefined
  #hasEnded = false

  constructor(options: LeasesOptions) {
    const { connection, keyring, audience, leaseMs, address, reached, logger } = options
    this.#options = options
    this.#placements = new Placements(connection)
    this.#sessions = new UpstreamSessions(keyring, audience)
    this.#gateway = new GatewayLease({ placements: this.#placements, leaseMs, address, reached, logger })
    this.#gateway.onCallers = (held) => this.#each((server) => server.confirm(held))
    this.#gateway.onLapsed = () => this.#each((server) => server.lapsed())
  }

  /** The leases on callers of a server, until it is removed. */
  of(server: LeasedServer): ServerLeases {
    const { name, url, idleMs } = server
    const key = JSON.stringify([name, url ?? null])
    const former = [...this.#servers.keys()].filter((each) => each.key === key)
    const leases = new ServerLeases({
      placements: this.#placements,
      gateway: this.#gateway,
      sessions: this.#sessions,
      name,
      key,
      idleMs,
      unreleased: this.#unreleased,
      former: () => former.filter((each) => this.#servers.has(each)),
    })
    this.#servers.set(leases, server)
    return leases
  }

  /** The trouble of PostgreSQL, if any. */
  get trouble(): string | undefined {
    return this.#gateway.trouble
  }

  /** The addresses of the other gateways. */
  async others(): Promise<readonly string[]> {
    return (await this.#gateway.lookAround()).flatMap(({ address }) => address ?? [])
  }

  remove(server: ServerLeases): void {
    this.#servers.delete(server)
  }

  start(): void {
    this.#gateway.start()
    this.#sweepLater()
  }

  /** Marks this gateway as stopping; it releases its callers one by one. */
  async stopping(): Promise<void> {
    await this.#gateway.stopping()
  }

  async leave(): Promise<void> {
    this.#hasEnded = true
    clearTimeout(this.#sweeping)
    await this.#gateway.leave()
  }

  #each(tell: (server: ServerLeases) => void): void {
    for (const server of this.#servers.keys()) tell(server)
  }

  #sweepLater(): void {
    if (this.#hasEnded) return
    clearTimeout(this.#sweeping)
    this.#sweeping = unref(setTimeout(() => void this.#sweep().finally(() => this.#sweepLater()), SWEEP_EVERY_MS))
  }

  /** Retries failed releases. A caller that was claimed again meanwhile has another epoch, and stays. */
  async #releaseAgain(): Promise<void> {
    for (const [row, unreleased] of this.#unreleased) {
      const { epoch, isHandedOff } = unreleased
      await this.#placements.release(this.#gateway.gateway.id, row, epoch, isHandedOff)
      if (this.#unreleased.get(row) === unreleased) this.#unreleased.delete(row)
    }
  }

  /** Ends sessions of gateways that are gone and that no gateway has claimed. The first gateway to sweep ends them. */
  async #sweep(): Promise<void> {
    if (!this.#gateway.isValid) return
    const servers = new Map([...this.#servers].map(([leases, server]) => [leases.key, server]))
    try {
      for (const leases of this.#servers.keys()) await leases.releaseUnused()
      await this.#releaseAgain()
      for (const { id, session: sealed } of await this.#placements.sweep([...servers.keys()])) {
        for (const [key, server] of servers) {
          const session = this.#sessions.open(id, key, sealed)
          if (session !== undefined) await server.endSession(session).catch(() => {}) // the session ended with its server
        }
      }
    } catch (error) {
      this.#options.logger().debug({ err: errorDetails(error) }, 'Sessions that nobody uses could not be looked for.')
    }
  }
}
