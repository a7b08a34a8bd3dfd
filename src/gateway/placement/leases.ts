/** Leases of callers in PostgreSQL, for all stateful servers of this gateway. */
import { randomUUID } from 'node:crypto'
import { DAY_SECONDS, isObject, unref } from '../../protocol/index.ts'
import { Placements, type PostgresConnection } from '../../postgres/internal.ts'
import { errorDetails } from '../../server/internal.ts'
import { StateError } from '../../state/internal.ts'
import { createSealer, type Keyring, type Sealer } from '../../state/seal/index.ts'
import type { UpstreamSession } from '../links/link.ts'
import { GatewayLease, type GatewayLeaseOptions } from './gatewayLease.ts'
import { ServerLeases, type SessionSeals, type Unreleased } from './serverLeases.ts'

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
    this.#options = options
    this.#placements = new Placements(options.connection)
    this.#sessions = new UpstreamSessions(options.keyring, options.audience)
    this.#gateway = new GatewayLease({
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
      gateway: this.#gateway,
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

  #sweepLater(): void {
    if (this.#hasEnded) return
    clearTimeout(this.#sweeping)
    this.#sweeping = unref(setTimeout(() => void this.#sweep().finally(() => this.#sweepLater()), SWEEP_EVERY_MS))
  }

  /** Retries failed releases. A caller that was claimed again meanwhile has another generation, and stays. */
  async #releaseAgain(): Promise<void> {
    for (const [key, unreleased] of this.#unreleased) {
      await this.#placements.release(unreleased.claim, unreleased.isHandedOff)
      if (this.#unreleased.get(key) === unreleased) this.#unreleased.delete(key)
    }
  }

  /** Ends sessions of gateways that are gone and that no gateway has claimed. The first gateway to sweep ends them. */
  async #sweep(): Promise<void> {
    if (!this.#gateway.isValid) return
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
      this.#options.logger().debug({ err: errorDetails(error) }, 'Sessions that nobody uses could not be looked for.')
    }
  }
}

/** Longer than any session is used. */
const SESSION_TTL_SECONDS = 3650 * DAY_SECONDS

/** A session id is all that a server asks for, so it is stored sealed, and opens only for its caller. */
class UpstreamSessions implements SessionSeals {
  readonly #sealer: Sealer

  constructor(keyring: Keyring, audience: string) {
    const ttlSeconds = SESSION_TTL_SECONDS
    this.#sealer = createSealer({ keyring, audience: `${audience} upstream sessions`, ttlSeconds })
  }

  seal(key: string, server: string, { id, version }: UpstreamSession): string {
    const body = { id, ...(version !== undefined && { version }) }
    return this.#sealer.seal('session', { method: server, name: key }, { id: randomUUID(), body })
  }

  open(key: string, server: string, token: string): UpstreamSession | undefined {
    try {
      const { body } = this.#sealer.open('session', { method: server, name: key }, token)
      const { id, version } = isObject(body) ? body : {}
      if (typeof id !== 'string') return undefined
      return { id, version: typeof version === 'string' ? version : undefined }
    } catch (error) {
      if (error instanceof StateError) return undefined
      throw error
    }
  }
}
