/**
 * The lease of this gateway in PostgreSQL: while it is valid, no other gateway serves its callers.
 *
 * - It expires here earlier than in the database: its time is counted from when the renewal was sent.
 * - Others may have claimed callers after it expired, so it is valid again only when this gateway knows which.
 * - A gateway that others have removed enters as a new one, without callers.
 * - No call waits long for a database that does not answer. After the first timeout all others fail at once until the
 *   database is back.
 */
import { randomUUID } from 'node:crypto'
import { settledWithin, sleep, unref } from '../../protocol/index.ts'
import {
  isDatabaseAnswer,
  type LeaseTimes,
  leaseTimes,
  type PlacedGateway,
  type Placements,
  within,
} from '../../postgres/internal.ts'
import type { Logger } from '../../server/internal.ts'
import { StateError } from '../../state/internal.ts'

export interface GatewayLeaseOptions {
  readonly placements: Placements
  readonly leaseMs: number
  /** The address at which other gateways reach this one, as far as known. */
  readonly address: () => string | undefined
  /** Resolves when that address is known. */
  readonly reached: () => Promise<void>
  /** Called when the lease has expired, before another gateway can claim a caller. */
  readonly onLapsed: () => void
  /** Called with the claims that this gateway still has: their generations by key. */
  readonly onCallers: (held: ReadonlyMap<string, string>) => void
  readonly logger: () => Logger
}

const AWAY =
  'PostgreSQL cannot be used. Callers of servers that keep something are served for as long as the lease of this gateway lasts. It is tried again.'
const NEVER_THERE =
  'PostgreSQL cannot be used, and could not since this gateway was started. Callers of servers that keep something are not served until it can. It is tried again.'
const BACK = 'PostgreSQL can be used.'
const TAKEN_FOR_GONE =
  'Another gateway took this one for gone, so its callers lose their sessions. Most likely others have the same address, or cannot reach it. Give each gateway an address of its own that the others reach: PANNIER_ADVERTISE.'
/** Maximum wait of a call for a lease. */
const KNOWN_WITHIN_MS = 2000
/** Maximum wait of a call for a statement. */
const ASKED_WITHIN_MS = 3000

/** A time on two clocks, of which the later counts: one stops while the machine sleeps, the other may be set back. */
interface Moment {
  readonly steady: number
  readonly wall: number
}

export class GatewayLease {
  readonly #options: GatewayLeaseOptions
  readonly #times: LeaseTimes
  readonly #stopped = new AbortController()
  #id = randomUUID()
  #hasEntered = false
  /** Whether the gateway ever had a lease. */
  #hadLease = false
  #sent: Moment | undefined
  #attempt: Promise<void> | undefined
  #reaching: Promise<void> | undefined
  #running: Promise<void> | undefined
  #lapsing: ReturnType<typeof setTimeout> | undefined
  #isAway = false
  #others: readonly PlacedGateway[] = []
  #isStopping = false

  constructor(options: GatewayLeaseOptions) {
    this.#options = options
    this.#times = leaseTimes(options.leaseMs)
  }

  get gateway(): PlacedGateway {
    return { id: this.#id, address: this.#options.address() }
  }

  get isValid(): boolean {
    return this.#sent !== undefined && elapsedMs(this.#sent) < this.#times.runMs
  }

  /** The consequence of the database's failure at the last attempt; undefined if it works. */
  get trouble(): string | undefined {
    if (!this.#isAway) return undefined
    return this.#hadLease ? AWAY : NEVER_THERE
  }

  /** The addresses of the other gateways that had a lease at the last query. */
  get otherAddresses(): readonly string[] {
    return this.#others.flatMap(({ address }) => address ?? [])
  }

  /** Queries the addresses of the other gateways. Returns the last known ones if the database does not answer. */
  async lookAround(): Promise<readonly string[]> {
    try {
      this.#others = await within(ASKED_WITHIN_MS, () => this.#options.placements.others(this.#id))
    } catch {
      // The database is down; the next renewal logs it.
    }
    return this.otherAddresses
  }

  start(): void {
    this.#reaching ??= this.#options.reached()
    this.#running ??= this.#run()
  }

  /** Whether the lease is valid. Waits briefly for the first lease after the start. */
  async known(): Promise<boolean> {
    this.start()
    const until = performance.now() + KNOWN_WITHIN_MS
    await this.#reaching
    while (!this.isValid && !this.#isAway && performance.now() < until && !this.#stopped.signal.aborted) {
      await settledWithin(this.#try(), until - performance.now())
      if (!this.isValid) await sleep(this.#times.retryMs, this.#stopped.signal).catch(() => {})
    }
    return this.isValid
  }

  /** Checks at once whether this gateway still has its lease. */
  async renew(): Promise<void> {
    this.#sent = undefined
    await settledWithin(this.#try(), KNOWN_WITHIN_MS)
  }

  /** Runs a statement for a call. Fails at once while the database is down. */
  async ask<T>(statement: () => Promise<T>): Promise<T> {
    if (this.#isAway) throw new StateError('STORE_UNAVAILABLE', AWAY)
    try {
      return await within(ASKED_WITHIN_MS, statement)
    } catch (error) {
      if (!isDatabaseAnswer(error)) {
        this.#say(error)
        void this.#try()
      }
      throw error
    }
  }

  /** Marks this gateway as stopping: others wait until it releases its callers. */
  async stopping(): Promise<void> {
    this.#isStopping = true
    if (this.isValid) await this.#try()
  }

  /** Releases the lease, and with it all callers. */
  async leave(): Promise<void> {
    this.#stopped.abort()
    clearTimeout(this.#lapsing)
    await this.#running
    if (this.#hasEntered) await this.#options.placements.leave(this.#id).catch(() => {}) // if it fails, the lease expires
    this.#sent = undefined
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped
    await this.#reaching
    while (!signal.aborted) {
      await this.#try()
      const { renewMs, retryMs } = this.#times
      await sleep(this.#isAway ? retryMs : renewMs, signal).catch(() => {})
    }
  }

  #try(): Promise<void> {
    this.#attempt ??= this.#tryOnce().finally(() => (this.#attempt = undefined))
    return this.#attempt
  }

  async #tryOnce(): Promise<void> {
    const sent = now()
    try {
      const { placements, onCallers } = this.#options
      await this.#renew()
      if (!this.isValid) onCallers(await placements.held(this.#id))
      this.#sent = sent
      this.#hadLease = true
      this.#watch()
      this.#say(undefined)
      void this.lookAround()
    } catch (error) {
      this.#say(error)
    }
  }

  async #renew(): Promise<void> {
    const { placements } = this.#options
    const { holdMs, attemptMs } = this.#times
    if (this.#hasEntered && (await placements.renew(this.gateway, holdMs, this.#isStopping, attemptMs))) return
    if (this.#hasEntered && this.isValid)
      this.#options.logger().error({ address: this.gateway.address }, TAKEN_FOR_GONE)
    this.#sent = undefined
    this.#hasEntered = false
    this.#id = randomUUID()
    await placements.enter(this.gateway, holdMs)
    this.#hasEntered = true
  }

  #watch(): void {
    clearTimeout(this.#lapsing)
    this.#lapsing = unref(setTimeout(this.#options.onLapsed, this.#times.runMs))
  }

  /** Logs once when the database goes down, and once when it is back. */
  #say(error: unknown): void {
    const isAway = error !== undefined
    if (this.#isAway === isAway) return
    this.#isAway = isAway
    const { logger } = this.#options
    const { trouble } = this
    if (trouble !== undefined) logger().error({ why: error instanceof Error ? error.message : 'unknown' }, trouble)
    else logger().info({}, BACK)
  }
}

function now(): Moment {
  return { steady: performance.now(), wall: Date.now() }
}

function elapsedMs({ steady, wall }: Moment): number {
  return Math.max(performance.now() - steady, Date.now() - wall)
}
