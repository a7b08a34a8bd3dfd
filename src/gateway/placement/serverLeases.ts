/** The leases of one server's callers: which callers this gateway serves, and where the others are. */
import { setNewest } from '../../protocol/index.ts'
import {
  type ClaimFromOther,
  type OwnClaim,
  type PlacedCaller,
  type PlacedGateway,
  placementKey,
  type Placements,
} from '../../postgres/internal.ts'
import { BackendError, callerMoved } from '../errors.ts'
import type { UpstreamSession } from '../links/link.ts'
import { CallerLease, type UpstreamSessions } from './callerLease.ts'
import type { GatewayLease } from './gatewayLease.ts'

export type CallerPlace =
  | { readonly kind: 'here'; readonly lease: CallerLease }
  | { readonly kind: 'elsewhere'; readonly owner: PlacedGateway }

/**
 * A claim whose release the database did not confirm. The release may still run later, so the next claim of the caller
 * gets another generation. Otherwise this gateway would serve a caller that the database has released.
 */
export interface Unreleased {
  readonly claim: OwnClaim
  /** Another gateway may resume the session. */
  readonly isHandedOff: boolean
}

export interface ServerLeasesOptions {
  readonly placements: Placements
  readonly gateway: GatewayLease
  readonly sessions: UpstreamSessions
  /** The name of the server, for errors. */
  readonly name: string
  /** Identifies the server for all gateways: the same name at another address is another server. */
  readonly serverKey: string
  readonly idleMs: number
  /** Unconfirmed releases of all servers, by key. */
  readonly unreleased: Map<string, Unreleased>
  /** Leases of the previous entry of this server, still draining. */
  readonly former: () => readonly ServerLeases[]
}

/** Maximum number of cached callers of other gateways. */
const MAX_ELSEWHERE = 10_000
/**
 * Age at which an unused lease is released. Waiting calls fail earlier, unless `startSeconds` is longer; then they get
 * an error and call again.
 */
const UNUSED_MS = 120_000
const LATER = 'Call again in a moment.'
/** Maximum retries: a row may be claimed or released between two reads. */
const MAX_LOOKS = 5

export class ServerLeases {
  readonly serverKey: string
  readonly #options: ServerLeasesOptions
  readonly #held = new Map<string, CallerLease>()
  readonly #elsewhere = new Map<string, PlacedGateway>()
  /** One statement for all concurrent calls of a caller. */
  readonly #looking = new Map<string, Promise<CallerPlace>>()
  readonly #releasing = new Map<string, Promise<void>>()

  constructor(options: ServerLeasesOptions) {
    this.serverKey = options.serverKey
    this.#options = options
  }

  /** Finds the gateway that serves a caller. Claims a caller that no gateway serves. */
  async find(caller: string): Promise<CallerPlace> {
    const key = this.keyOf(caller)
    const lease = this.#held.get(key)
    if (lease?.isValid) {
      lease.foundAt = performance.now()
      return { kind: 'here', lease }
    }
    const owner = this.#elsewhere.get(key)
    if (owner !== undefined) return { kind: 'elsewhere', owner }
    let looking = this.#looking.get(key)
    if (looking === undefined) {
      looking = this.#look(key, this.#placed(caller)).finally(() => this.#looking.delete(key))
      this.#looking.set(key, looking)
    }
    return looking
  }

  /** The lease of a caller that is served here. */
  async own(caller: string): Promise<CallerLease> {
    const place = await this.find(caller)
    if (place.kind === 'here') return place.lease
    throw this.moved()
  }

  /** Throws if another gateway may serve the caller. */
  assertOwn(lease: CallerLease): void {
    if (lease.isValid) return
    throw this.#options.gateway.isValid ? this.moved() : this.#unknown()
  }

  /** Whether only this gateway serves the caller with this key now. */
  holds(key: string): boolean {
    return this.#held.get(key)?.isValid === true
  }

  /** The addresses of the other gateways that may serve a caller, by the last query. */
  get otherAddresses(): readonly string[] {
    return this.#options.gateway.otherAddresses
  }

  keyOf(caller: string): string {
    return placementKey({ server: this.serverKey, caller })
  }

  /** Drops the cached place of a caller. */
  forget(caller: string): void {
    this.#elsewhere.delete(this.keyOf(caller))
  }

  /** Claims a caller from a gateway that does not answer, if allowed. `hasEnded`: its process is gone. */
  async claimFrom({ id }: PlacedGateway, caller: string, hasEnded: boolean): Promise<ClaimFromOther> {
    const { placements, gateway } = this.#options
    this.forget(caller)
    return this.#asked(() => placements.claimFrom(id, gateway.gateway.id, this.#placed(caller), hasEnded))
  }

  /** Stores the session of a caller, so that another gateway can resume it. */
  async keepSession(lease: CallerLease, session: UpstreamSession): Promise<void> {
    const { placements, sessions } = this.#options
    const sealed = sessions.seal(lease.key, this.serverKey, session)
    if (!(await this.#asked(() => placements.keepSession(lease, sealed)))) throw this.moved()
    lease.session = session
  }

  /** Releases a caller. `isHandedOff`: another gateway may resume the session. */
  async release(lease: CallerLease, isHandedOff: boolean): Promise<void> {
    const { placements, gateway, unreleased } = this.#options
    const { key } = lease
    lease.end()
    if (this.#held.get(key) !== lease) return
    this.#held.delete(key)
    const releasing = gateway
      .ask(() => placements.release(lease, isHandedOff))
      .catch(() => void unreleased.set(key, { claim: lease, isHandedOff }))
    this.#releasing.set(key, releasing)
    await releasing
    this.#releasing.delete(key)
  }

  /**
   * Releases callers without a process or session, whose calls were all refused. Otherwise a client with many names
   * would fill the table.
   */
  async releaseUnused(): Promise<void> {
    const before = performance.now() - UNUSED_MS
    const unused = [...this.#held.values()].filter(({ isUsed, foundAt }) => !isUsed && foundAt < before)
    for (const lease of unused) await this.release(lease, false)
  }

  /** Ends the leases on all callers but these. */
  confirm(held: ReadonlyMap<string, string>): void {
    this.#elsewhere.clear()
    for (const [key, lease] of this.#held) {
      if (held.get(key) === lease.generation) continue
      this.#held.delete(key)
      lease.lose()
    }
  }

  lapsed(): void {
    for (const lease of this.#held.values()) lease.lapse()
  }

  moved(): BackendError {
    return callerMoved(this.#options.name)
  }

  /** The error when the gateway that serves a caller neither answers nor releases the caller. */
  unreachable(): BackendError {
    const sentence = 'is reached for this caller by another gateway, which does not answer.'
    return new BackendError('CALLER_UNPLACED', this.#options.name, sentence, { unsent: LATER })
  }

  async #look(key: string, placed: PlacedCaller): Promise<CallerPlace> {
    const { placements, gateway, unreleased } = this.#options
    const former = this.#options.former()
    // Links under the previous entry are released under their own generation, so the new entry needs another.
    const isFresh = (): boolean =>
      unreleased.has(key) || former.some((leases) => leases.#held.has(key) || leases.#releasing.has(key))
    await Promise.all([this, ...former].map(async (leases) => leases.#releasing.get(key)))
    for (let looks = 0; looks < MAX_LOOKS; looks++) {
      if (!(await gateway.known())) throw this.#unknown()
      const owner = gateway.gateway.id
      const place = await this.#asked(() => placements.claim(owner, placed, isFresh()))
      switch (place.kind) {
        case 'unleased':
          await gateway.renew()
          break
        case 'here':
          unreleased.delete(key)
          return { kind: 'here', lease: this.#hold({ key, owner, generation: place.generation }, place.session) }
        case 'elsewhere':
          if (place.owner.id === '') break
          setNewest(this.#elsewhere, key, place.owner, MAX_ELSEWHERE)
          return place
      }
    }
    throw this.#unknown()
  }

  #hold(claim: OwnClaim, sealed: string | undefined): CallerLease {
    const { gateway, sessions } = this.#options
    const { key, generation } = claim
    const held = this.#held.get(key)
    if (held?.generation === generation) return held
    held?.lose()
    const session = sealed === undefined ? undefined : sessions.open(key, this.serverKey, sealed)
    const lease = new CallerLease(claim, gateway, session)
    this.#held.set(key, lease)
    return lease
  }

  #placed(caller: string): PlacedCaller {
    return { server: this.serverKey, caller, idleMs: this.#options.idleMs }
  }

  async #asked<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await this.#options.gateway.ask(ask)
    } catch (error) {
      throw this.#unknown(error)
    }
  }

  #unknown(cause?: unknown): BackendError {
    const sentence =
      'keeps something for each caller, and PostgreSQL, where the gateways look up which of them has it, cannot be used now.'
    return new BackendError('CALLER_UNPLACED', this.#options.name, sentence, { cause, unsent: LATER })
  }
}
