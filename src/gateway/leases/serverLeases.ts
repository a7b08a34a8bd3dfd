/** Which callers of one server this gateway serves, and where the others are. */
import {
  type PlacedCaller,
  type PlacedGateway,
  placementId,
  type Placements,
  type Taking,
} from '../../postgres/internal.ts'
import { BackendError } from '../errors.ts'
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

/** A caller whom this gateway serves, from when it has taken them until it gives them up or loses them. */
export class CallerLease {
  /** Names the caller in the table. */
  readonly row: string
  readonly epoch: string
  /** The session at the server, where another gateway began it or this one has stored it. */
  session: UpstreamSession | undefined
  /** Whether a process or session was opened for the caller: then the caller is given up when that ends. */
  isUsed = false
  /** When a call came for the caller, by `performance.now()`. */
  foundAt = performance.now()
  readonly #gateway: GatewayLease
  #isOver = false
  /** Called when another gateway has taken the caller, or may have. */
  onLost: () => void = () => {}
  /** Called when another gateway may take the caller from now on. */
  onLapsed: () => void = () => {}

  constructor({ gateway, row, epoch, session }: CallerLeaseOptions) {
    this.#gateway = gateway
    this.row = row
    this.epoch = epoch
    this.session = session
  }

  /** Whether nobody else serves the caller. */
  get isValid(): boolean {
    return !this.#isOver && this.#gateway.isValid
  }

  end(): void {
    this.#isOver = true
  }
}

/**
 * A caller whom the database was told to give up, and did not answer. It may do so at any time later: so the caller is taken
 * under another epoch, or this gateway would serve one who is free for all others.
 */
export interface Unreleased {
  readonly epoch: string
  /** Another gateway may go on with the session. */
  readonly isHandedOn: boolean
}

export interface ServerLeasesOptions {
  readonly placements: Placements
  readonly gateway: GatewayLease
  readonly sessions: UpstreamSessions
  /** The name of the server, for errors. */
  readonly name: string
  /** Names the server for all gateways: a server of the same name at another address is another one. */
  readonly key: string
  readonly idleMs: number
  /** Callers of all servers, by their rows, whom the database was not seen to give up. */
  readonly unreleased: Map<string, Unreleased>
  /** Leases of the same server here that end: its entry has changed, and calls under the one of before are under way. */
  readonly former: () => readonly ServerLeases[]
}

/** How many callers are remembered who are elsewhere. */
const MAX_ELSEWHERE = 10_000
/** Calls that wait for room are refused before, unless `startSeconds` is longer: then they are told to come again. */
const UNUSED_MS = 120_000
/** A row may be taken, or become free, between two looks at it. */
const MAX_LOOKS = 5

export class ServerLeases {
  readonly #options: ServerLeasesOptions
  readonly #held = new Map<string, CallerLease>()
  readonly #elsewhere = new Map<string, PlacedGateway>()
  /** One statement for all calls of a caller that come at once. */
  readonly #looking = new Map<string, Promise<CallerPlace>>()
  readonly #releasing = new Map<string, Promise<void>>()

  constructor(options: ServerLeasesOptions) {
    this.#options = options
  }

  get key(): string {
    return this.#options.key
  }

  /** Where a caller is served. One whom nobody serves is served here from now on. */
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

  /** The lease on a caller who is served here. */
  async own(caller: string): Promise<CallerLease> {
    const place = await this.find(caller)
    if (place.kind === 'here') return place.lease
    throw this.moved()
  }

  /** Throws where somebody else may serve the caller. */
  assertOwn(lease: CallerLease): void {
    if (lease.isValid) return
    throw this.#options.gateway.isValid ? this.moved() : this.#unknown()
  }

  /** Whether nobody but this gateway serves the caller of this row at the moment. */
  holds(row: string): boolean {
    return this.#held.get(row)?.isValid === true
  }

  /** The other gateways that may serve a caller, as far as was known when the database was last asked. */
  get others(): readonly PlacedGateway[] {
    return this.#options.gateway.others
  }

  rowOf(caller: string): string {
    return placementId({ server: this.key, caller })
  }

  /** Where the caller was thought to be is not true any longer. */
  forget(caller: string): void {
    this.#elsewhere.delete(this.rowOf(caller))
  }

  /** Takes a caller from a gateway that does not answer, if that may be. `hasEnded`: its process is gone. */
  async takeFrom({ id }: PlacedGateway, caller: string, hasEnded: boolean): Promise<Taking> {
    const { placements, gateway } = this.#options
    this.forget(caller)
    return this.#asked(() => placements.takeFrom(id, gateway.gateway.id, this.#placed(caller), hasEnded))
  }

  /** Stores the session of a caller, so that another gateway can go on with it. */
  async keepSession(lease: CallerLease, session: UpstreamSession): Promise<void> {
    const { placements, gateway, sessions } = this.#options
    const sealed = sessions.seal(lease.row, this.key, session)
    const isKept = await this.#asked(() => placements.keepSession(gateway.gateway.id, lease.row, lease.epoch, sealed))
    if (!isKept) throw this.moved()
    lease.session = session
  }

  /** `isHandedOn`: another gateway may go on with the session. */
  async release(lease: CallerLease, isHandedOn: boolean): Promise<void> {
    const { placements, gateway, unreleased } = this.#options
    const { row, epoch } = lease
    lease.end()
    if (this.#held.get(row) !== lease) return
    this.#held.delete(row)
    const releasing = gateway
      .ask(() => placements.release(gateway.gateway.id, row, epoch, isHandedOn))
      .catch(() => void unreleased.set(row, { epoch, isHandedOn }))
    this.#releasing.set(row, releasing)
    await releasing
    this.#releasing.delete(row)
  }

  /** Gives up callers for whom nothing was opened, because all their calls were refused: anyone can come under many names. */
  async releaseUnused(): Promise<void> {
    const before = performance.now() - UNUSED_MS
    const unused = [...this.#held.values()].filter(({ isUsed, foundAt }) => !isUsed && foundAt < before)
    for (const lease of unused) await this.release(lease, false)
  }

  /** These callers are still those of this gateway. */
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
    const sentence = 'was just taken over by another gateway for this caller. The call was not begun. Call again.'
    return new BackendError('CALLER_MOVED', this.#options.name, sentence)
  }

  /** The gateway that serves a caller neither answers nor gives the caller up. */
  unreachable(): BackendError {
    const sentence =
      'is reached for this caller by another gateway, which does not answer. The call was not begun. Call again in a moment.'
    return new BackendError('CALLER_UNPLACED', this.#options.name, sentence)
  }

  async #look(row: string, placed: PlacedCaller): Promise<CallerPlace> {
    const { placements, gateway, unreleased } = this.#options
    const former = this.#options.former()
    // What a caller has under the entry of before ends with it, and is given up under its own epoch.
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
      'keeps something for each caller, and PostgreSQL, where the gateways look up which of them has it, cannot be used now. The call was not begun. Call again in a moment.'
    return new BackendError('CALLER_UNPLACED', this.#options.name, sentence, { cause })
  }
}
