/**
 * The lease of this gateway in PostgreSQL: while it is valid, nobody else serves the callers that this gateway has.
 *
 * - It is valid for less time here than in the database, counted from the moment in which the renewal was sent.
 * - After it was over, others may have taken callers: so it is valid again only when this gateway knows which.
 * - A gateway that others have removed is a new one, without callers.
 * - No call waits long for a database that does not answer. Once one has, the others fail at once until it is there again.
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
  /** Where other gateways reach this one, as far as is known now. */
  readonly address: () => string | undefined
  /** Resolves when that is known. */
  readonly reached: () => Promise<void>
  readonly logger: () => Logger
}

const AWAY =
  'PostgreSQL cannot be used. Callers of servers that keep something are served for as long as the lease of this gateway lasts. It is tried again.'
const NEVER_THERE =
  'PostgreSQL cannot be used, and could not since this gateway was started. Callers of servers that keep something are not served until it can. It is tried again.'
const BACK = 'PostgreSQL can be used.'
const TAKEN_FOR_GONE =
  'Another gateway took this one for gone, and its callers begin anew. Most likely others have the same address, or cannot reach it. Give each gateway an address of its own that the others reach: PANNIER_ADVERTISE.'
/** So long a call waits for a lease. */
const KNOWN_WITHIN_MS = 2000
/** So long a call waits for a statement. */
const ASKED_WITHIN_MS = 3000

/** Whichever clock has gone further: one stands still while the machine sleeps, the other may be set back. */
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
  /** Whether there ever was a lease. */
  #hadLease = false
  #sent: Moment | undefined
  #attempt: Promise<void> | undefined
  #reaching: Promise<void> | undefined
  #running: Promise<void> | undefined
  #lapsing: ReturnType<typeof setTimeout> | undefined
  #isAway = false
  #others: readonly PlacedGateway[] = []
  #isStopping = false
  /** Called when the lease is over, before anyone else can take a caller. */
  onLapsed: () => void = () => {}
  /** Called with the callers that this gateway still has, by their rows, each with its epoch. */
  onCallers: (held: ReadonlyMap<string, string>) => void = () => {}

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

  /** What it means that the database could not be used when it was last tried; undefined where it could. */
  get trouble(): string | undefined {
    if (!this.#isAway) return undefined
    return this.#hadLease ? AWAY : NEVER_THERE
  }

  /** The other gateways that had a lease when the database was last asked. */
  get others(): readonly PlacedGateway[] {
    return this.#others
  }

  start(): void {
    this.#reaching ??= this.#options.reached()
    this.#running ??= this.#run()
  }

  /** Whether the lease is valid. Waits a moment for the first one: a gateway that has just started has none yet. */
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

  /** Looks at once whether this gateway still has its lease. */
  async renew(): Promise<void> {
    this.#sent = undefined
    await settledWithin(this.#try(), KNOWN_WITHIN_MS)
  }

  /** Asks the database for a call, which does not wait for one that is away. */
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

  /** From now on others wait until this gateway gives its callers up. */
  async stopping(): Promise<void> {
    this.#isStopping = true
    if (this.isValid) await this.#try()
  }

  /** Gives up the lease, and with it all callers. */
  async leave(): Promise<void> {
    this.#stopped.abort()
    clearTimeout(this.#lapsing)
    await this.#running
    if (this.#hasEntered) await this.#options.placements.leave(this.#id).catch(() => {}) // then the lease ends by itself
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
      await this.#renew()
      if (!this.isValid) this.onCallers(await this.#options.placements.held(this.#id))
      this.#sent = sent
      this.#hadLease = true
      this.#watch()
      this.#say(undefined)
      void this.#lookAround()
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

  async #lookAround(): Promise<void> {
    try {
      this.#others = await this.#options.placements.others(this.#id)
    } catch {
      // Those of before are kept.
    }
  }

  #watch(): void {
    clearTimeout(this.#lapsing)
    this.#lapsing = unref(setTimeout(() => this.onLapsed(), this.#times.runMs))
  }

  /** Once for each time that it goes away, and comes back. */
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
