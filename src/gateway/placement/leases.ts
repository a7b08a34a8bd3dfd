/** Leases of callers in PostgreSQL, for all stateful servers of this gateway. */
import { unref } from '../../protocol/index.ts'
import { Placements, type PostgresConnection } from '../../postgres/internal.ts'
import { errorDetails } from '../../server/internal.ts'
import type { Keyring } from '../../state/seal/index.ts'
import type { UpstreamSession } from '../links/link.ts'
import { UpstreamSessions } from './callerLease.ts'
import { GatewayLease, type GatewayLeaseOptions } from './gatewayLease.ts'
import { ServerLeases, type Unreleased } from './serverLeases.ts'

export interface LeasesOptions extends Pick<GatewayLeaseOptions, 'leaseMs' | 'address' | 'reached' | 'logger'> {
  readonly connection: PostgresConnection
  readonly keyring: Keyring
  readonly audience: string
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

/** Maximum interval of sweeps, which are a quarter of a lease apart. */
const MAX_SWEEP_INTERVAL_MS = 5000

export class Leases {
  readonly #options: LeasesOptions
  readonly #placements: Placements
  /** The lease of this gateway, under which it has all its callers. */
  readonly gateway: GatewayLease
  readonly #sessions: UpstreamSessions
  readonly #servers = new Map<ServerLeases, LeasedServer>()
  readonly #unreleased = new Map<string, Unreleased>()
  #sweeping: ReturnType<typeof setTimeout> | undefined
  #hasEnded = false

  constructor(options: LeasesOptions) {
    this.#options = options
    this.#placements = new Placements(options.connection)
    this.#sessions = new UpstreamSessions(options.keyring, options.audience)
    this.gateway = new GatewayLease({
      ...options,
      placements: this.#placements,
      onCallers: (held) => {
        for (const server of this.#servers.keys()) server.confirm(held)
      },
      onLapsed: () => {
        for (const server of this.#servers.keys()) server.lapsed()
      },
    })
  }

  /** The leases on callers of a server, until it is removed. */
  of(server: LeasedServer): ServerLeases {
    const { name, url, idleMs } = server
    const serverKey = JSON.stringify([name, url ?? null])
    const former = [...this.#servers.keys()].filter((each) => each.serverKey === serverKey)
    const leases = new ServerLeases({
      placements: this.#placements,
      gateway: this.gateway,
      sessions: this.#sessions,
      name,
      serverKey,
      idleMs,
      unreleased: this.#unreleased,
      former: () => former.filter((each) => this.#servers.has(each)),
    })
    this.#servers.set(leases, server)
    return leases
  }

  remove(server: ServerLeases): void {
    this.#servers.delete(server)
  }

  start(): void {
    this.gateway.start()
    this.#sweepLater()
  }

  async leave(): Promise<void> {
    this.#hasEnded = true
    clearTimeout(this.#sweeping)
    await this.gateway.leave()
  }

  #sweepLater(): void {
    if (this.#hasEnded) return
    clearTimeout(this.#sweeping)
    const intervalMs = Math.min(MAX_SWEEP_INTERVAL_MS, this.#options.leaseMs / 4)
    this.#sweeping = unref(setTimeout(() => void this.#sweep().finally(() => this.#sweepLater()), intervalMs))
  }

  /** Retries failed releases. A caller that was claimed again in the meantime has another generation, and stays. */
  async #releaseAgain(): Promise<void> {
    for (const [key, unreleased] of this.#unreleased) {
      await this.#placements.release(unreleased.claim, unreleased.isHandedOff)
      if (this.#unreleased.get(key) === unreleased) this.#unreleased.delete(key)
    }
  }

  /** Ends sessions of gateways that are gone and that no gateway has claimed. The first gateway to sweep ends them. */
  async #sweep(): Promise<void> {
    if (!this.gateway.isValid) return
    const servers = new Map([...this.#servers].map(([leases, server]) => [leases.serverKey, server]))
    try {
      for (const leases of this.#servers.keys()) await leases.releaseUnused()
      await this.#releaseAgain()
      for (const { key, session: sealed } of await this.#placements.sweep([...servers.keys()])) {
        for (const [serverKey, server] of servers) {
          const session = this.#sessions.open(key, serverKey, sealed)
          if (session !== undefined) await server.endSession(session).catch(() => {}) // the session ended with its server
        }
      }
    } catch (error) {
      this.#options.logger().debug({ err: errorDetails(error) }, 'The search for abandoned sessions failed.')
    }
  }
}
