/** The leases of one server's callers: which this gateway serves, and where the others are. */
import {
  type PlacedCaller,
  type PlacedGateway,
  placementId,
  type Placements,
  type Taking,
} from '../../postgres/internal.ts'
import { BackendError, callerMoved } from '../errors.ts'
import type { GatewayLease } from './gatewayLease.ts'
import type { UpstreamSession } from '../links/link.ts'
import type { UpstreamSessions } from './upstreamSessions.ts'

export type CallerPlace =
  | { readonly kind: 'here'; readonly lease: CallerLease }
  | { readonly kind: 'elsewhere'; readonly gateway: PlacedGateway }

interface CallerLeaseOptions {
  readonly gateway: GatewayLease
  readonly row: string
  readonly epoch: string
  readonly session: UpstreamSession | undefined
}

/** A caller that this gateway serves, from its claim until its release or loss. */
export class CallerLease {
  /** The caller's row in the table. */
  readonly row: string
  readonly epoch: string
  /** The session at the server, if another gateway began it or this one has stored it. */
  session: UpstreamSession | undefined
  /** Whether a process or session was opened for the caller: then the lease is released when that ends. */
  isUsed = false
  /** Time of the caller's last call, by `performance.now()`. */
  foundAt = performance.now()
  readonly #gateway: GatewayLease
  #isOver = false
  /** Called when another gateway has claimed the caller, or may have. */
  onLost: () => void = () => {}
  /** Called when another gateway may claim the caller from now on. */
  onLapsed: () => void = () => {}

  constructor({ gateway, row, epoch, session }: CallerLeaseOptions) {
    this.#gateway = gateway
    this.row = row
    this.epoch = epoch
    this.session = session
  }

  /** Whether no other gateway serves the caller. */
  get isValid(): boolean {
    return !this.#isOver && this.#gateway.isValid
  }

  end(): void {
    this.#isOver = true
  }
}

/**
 * A caller whose release the database did not confirm. The release may still run at any time later, so the caller is
 * claimed under another epoch; otherwise this gateway would serve a caller that is free for all others.
 */
export interface Unreleased {
  readonly epoch: string
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
  readonly key: string
  readonly idleMs: number
  /** Unconfirmed releases of all servers, by row. */
  readonly unreleased: Map<string, Unreleased>
  /** Leases of the previous entry of this server, still draining. */
  readonly former: () => readonly ServerLeases[]
}

/** Maximum number of cached callers of other gateways. */
const MAX_ELSEWHERE = 10_000
/**
 * Waiting calls are refused earlier than this, unless `startSeconds` is longer: then they get an error and call again.
 */
const UNUSED_MS = 120_000
const LATER = 'Call again in a moment.'
/** Maximum retries: a row may be claimed or released between two reads. */
const MAX_LOOKS = 5

export class ServerLeases {
  readonly #options: ServerLeasesOptions
  readonly #held = new Map<string, CallerLease>()
  readonly #elsewhere = new Map<string, PlacedGateway>()
  /** One statement for all concurrent calls of a caller. */
  readonly #looking = new Map<string, Promise<CallerPlace>>()
  readonly #releasing = new Map<string, Promise<void>>()

  constructor(options: ServerLeasesOptions) {
    this.#options = options
  }

  get key(): string {
    return this.#options.key
  }

  /** Finds the gateway that serves a caller. Claims a caller that no gateway serves. */
  async find(caller: string): Promise<CallerPlace> {
    const row = this.rowOf(caller)
    const lease = this.#held.get(row)
    if (lease?.isValid) {
      lease.foundAt = performance.now()
      return { kind: 'here', lease }
    }
    const gateway = this.#elsewhere.get(row)
    if (gateway !== undefined) return { kind: 'elsewhere', gateway }
    let looking = this.#looking.get(row)
    if (looking === undefined) {
      looking = this.#look(row, this.#placed(caller)).finally(() => this.#looking.delete(row))
      this.#looking.set(row, looking)
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

  /** Whether only this gateway serves the caller of this row now. */
  holds(row: string): boolean {
    return this.#held.get(row)?.isValid === true
  }

  /** The other gateways that may serve a caller, by the last query. */
  get others(): readonly PlacedGateway[] {
    return this.#options.gateway.others
  }

  rowOf(caller: string): string {
    return placementId({ server: this.key, caller })
  }

  /** Drops the cached place of a caller. */
  forget(caller: string): void {
    this.#elsewhere.delete(this.rowOf(caller))
  }

  /** Claims a caller from a gateway that does not answer, if allowed. `hasEnded`: its process is gone. */
  async takeFrom({ id }: PlacedGateway, caller: string, hasEnded: boolean): Promise<Taking> {
    const { placements, gateway } = this.#options
    this.forget(caller)
    return this.#asked(() => placements.takeFrom(id, gateway.gateway.id, this.#placed(caller), hasEnded))
  }

  /** Stores the session of a caller, so that another gateway can resume it. */
  async keepSession(lease: CallerLease, session: UpstreamSession): Promise<void> {
    const { placements, gateway, sessions } = this.#options
    const sealed = sessions.seal(lease.row, this.key, session)
    const isKept = await this.#asked(() => placements.keepSession(gateway.gateway.id, lease.row, lease.epoch, sealed))
    if (!isKept) throw this.moved()
    lease.session = session
  }

  /** Releases a caller. `isHandedOff`: another gateway may resume the session. */
  async release(lease: CallerLease, isHandedOff: boolean): Promise<void> {
    const { placements, gateway, unreleased } = this.#options
    const { row, epoch } = lease
    lease.end()
    if (this.#held.get(row) !== lease) return
    this.#held.delete(row)
    const releasing = gateway
      .ask(() => placements.release(gateway.gateway.id, row, epoch, isHandedOff))
      .catch(() => void unreleased.set(row, { epoch, isHandedOff }))
    this.#releasing.set(row, releasing)
    await releasing
    this.#releasing.delete(row)
  }

  /** Releases callers without a process or session, whose calls were all refused: anyone can call under many names. */
  async releaseUnused(): Promise<void> {
    const before = performance.now() - UNUSED_MS
    const unused = [...this.#held.values()].filter(({ isUsed, foundAt }) => !isUsed && foundAt < before)
    for (const lease of unused) await this.release(lease, false)
  }

  /** Ends the leases on all other callers than these. */
  confirm(held: ReadonlyMap<string, string>): void {
    this.#elsewhere.clear()
    for (const [row, lease] of this.#held) {
      if (held.get(row) === lease.epoch) continue
      this.#held.delete(row)
      lease.end()
      lease.onLost()
    }
  }

  lapsed(): void {
    for (const lease of this.#held.values()) lease.onLapsed()
  }

  moved(): BackendError {
    return callerMoved(this.#options.name)
  }

  /** The error when the gateway that serves a caller neither answers nor releases the caller. */
  unreachable(): BackendError {
    const sentence = 'is reached for this caller by another gateway, which does not answer.'
    return new BackendError('CALLER_UNPLACED', this.#options.name, sentence, { unsent: LATER })
  }

  async #look(row: string, placed: PlacedCaller): Promise<CallerPlace> {
    const { placements, gateway, unreleased } = this.#options
    const former = this.#options.former()
    // A caller's links under the previous entry end with it, and are released under their own epoch.
    const isAnew = (): boolean =>
      unreleased.has(row) || former.some((leases) => leases.#held.has(row) || leases.#releasing.has(row))
    await Promise.all([this, ...former].map(async (leases) => leases.#releasing.get(row)))
    for (let looks = 0; looks < MAX_LOOKS; looks++) {
      if (!(await gateway.known())) throw this.#unknown()
      const place = await this.#asked(() => placements.claim(gateway.gateway.id, placed, isAnew()))
      switch (place.kind) {
        case 'unleased':
          await gateway.renew()
          break
        case 'here':
          unreleased.delete(row)
          return { kind: 'here', lease: this.#hold(row, place.epoch, place.session) }
        case 'elsewhere':
          if (place.gateway.id === '') break
          this.#note(row, place.gateway)
          return place
      }
    }
    throw this.#unknown()
  }

  #hold(row: string, epoch: string, sealed: string | undefined): CallerLease {
    const { gateway, sessions } = this.#options
    const held = this.#held.get(row)
    if (held?.epoch === epoch) return held
    held?.end()
    held?.onLost()
    const session = sealed === undefined ? undefined : sessions.open(row, this.key, sealed)
    const lease = new CallerLease({ gateway, row, epoch, session })
    this.#held.set(row, lease)
    return lease
  }

  #note(row: string, gateway: PlacedGateway): void {
    for (const oldest of this.#elsewhere.keys()) {
      if (this.#elsewhere.size < MAX_ELSEWHERE) break
      this.#elsewhere.delete(oldest)
    }
    this.#elsewhere.set(row, gateway)
  }

  #placed(caller: string): PlacedCaller {
    return { server: this.key, caller, idleMs: this.#options.idleMs }
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
