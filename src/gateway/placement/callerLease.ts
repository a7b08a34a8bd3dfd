/** A caller that this gateway serves under its lease, and the caller's session at the server. */
import { unlessRefused } from '../../state/internal.ts'
import { randomUUID } from 'node:crypto'
import { DAY_SECONDS, isObject } from '../../protocol/index.ts'
import type { OwnClaim } from '../../postgres/internal.ts'
import { createSealer, type Keyring, type Sealer } from '../../state/seal/index.ts'
import type { UpstreamSession } from '../links/link.ts'
import type { GatewayLease } from './gatewayLease.ts'

/** Callbacks for when other gateways serve the caller of a lease, or may do so. */
export interface LeaseWatcher {
  /** Another gateway has claimed the caller, or may have. */
  readonly onLost: () => void
  /** Another gateway may claim the caller from now on. */
  readonly onLapsed: () => void
}

/** A caller that this gateway serves, from its claim until its release or loss. */
export class CallerLease implements OwnClaim {
  readonly key: string
  readonly owner: string
  readonly generation: string
  /** The session at the server, if another gateway began it or this one has stored it. */
  session: UpstreamSession | undefined
  /** Time of the caller's last call, by `performance.now()`. */
  foundAt = performance.now()
  readonly #gateway: GatewayLease
  #watcher: LeaseWatcher | undefined
  #isOver = false

  constructor({ key, owner, generation }: OwnClaim, gateway: GatewayLease, session: UpstreamSession | undefined) {
    this.key = key
    this.owner = owner
    this.generation = generation
    this.session = session
    this.#gateway = gateway
  }

  /** Whether no other gateway serves the caller. */
  get isValid(): boolean {
    return !this.#isOver && this.#gateway.isValid
  }

  /** Whether a process or session was opened for the caller. Then the lease is released when that ends. */
  get isUsed(): boolean {
    return this.#watcher !== undefined
  }

  /** Records that a process or session is opened for the caller. */
  use(watcher: LeaseWatcher): void {
    this.#watcher = watcher
  }

  end(): void {
    this.#isOver = true
  }

  lose(): void {
    this.end()
    this.#watcher?.onLost()
  }

  lapse(): void {
    this.#watcher?.onLapsed()
  }
}

/** Longer than any session lasts. */
const SESSION_TTL_SECONDS = 3650 * DAY_SECONDS

/**
 * Sealed sessions. A session id alone gives access to the session at its server, so it is stored sealed and opens only
 * for its caller.
 */
export class UpstreamSessions {
  readonly #sealer: Sealer

  constructor(keyring: Keyring, audience: string) {
    const ttlSeconds = SESSION_TTL_SECONDS
    this.#sealer = createSealer({ keyring, audience: `${audience} upstream sessions`, ttlSeconds })
  }

  /** `key` identifies the caller, `server` the server of the session. */
  seal(key: string, server: string, { id, version }: UpstreamSession): string {
    const body = { id, ...(version !== undefined && { version }) }
    return this.#sealer.seal('session', { method: server, name: key }, { id: randomUUID(), body })
  }

  /** Undefined if the keys have changed or it belongs to another server: the caller then gets a new session. */
  open(key: string, server: string, token: string): UpstreamSession | undefined {
    const opened = unlessRefused(() => this.#sealer.open('session', { method: server, name: key }, token))
    const { id, version } = isObject(opened?.body) ? opened.body : {}
    return typeof id === 'string' ? { id, version: typeof version === 'string' ? version : undefined } : undefined
  }
}
