/**
 * What a server lists to each caller, where callers have credentials of their own there. A caller never gets what another
 * one was listed: where their own lists cannot be read in time, they get the last that were read for them.
 */
import { DAY_MS, settledWithin } from '../../protocol/index.ts'
import type { Offer, OfferLimits, ReadOffer } from './offer.ts'
import { Shares } from './shares.ts'

/** Whose lists they are, and for whom their size is counted. */
export interface OfferedCaller {
  readonly caller: string
  readonly holder: string
}

export interface OwnOfferLimits {
  /** How many callers' lists are kept. */
  readonly callers: number
  /** Of all of them together. */
  readonly bytes: number
}

interface OwnOffer {
  readonly holder: string
  offer: Offer | undefined
  bytes: number
  /** Until when it counts as it is, in milliseconds of the process. */
  until: number
  reading: Promise<void> | undefined
}

/** The limits of one caller's lists. */
export const ONE_CALLER: OfferLimits = { pages: 1000, entries: 5000, bytes: 4 * 1024 * 1024 }
const LIMITS: OwnOfferLimits = { callers: 1000, bytes: 64 * 1024 * 1024 }
/** However short the time is that a server gives, and after a reading that failed. */
const LEAST_MS = 1000

export class OwnOffers {
  readonly #limits: OwnOfferLimits
  /** Of a server that does not say how long its lists stay as they are. */
  readonly #usualMs: number
  readonly #offers = new Map<string, OwnOffer>()

  constructor(usualMs: number, limits: Partial<OwnOfferLimits> = {}) {
    this.#usualMs = usualMs
    this.#limits = { ...LIMITS, ...limits }
  }

  /** What this caller was listed last; undefined where that is not known. */
  known({ caller }: OfferedCaller): Offer | undefined {
    return this.#offers.get(caller)?.offer
  }

  /** The same, once it was read again where it may have changed; or after so many milliseconds. */
  async latest(of: OfferedCaller, read: () => Promise<ReadOffer>, waitMs: number): Promise<Offer | undefined> {
    const own = this.#offers.get(of.caller) ?? this.#add(of)
    if (performance.now() >= own.until) {
      own.reading ??= this.#read(own, read)
      await settledWithin(own.reading, waitMs)
    }
    return own.offer
  }

  /** All lists may have changed. */
  expire(): void {
    for (const own of this.#offers.values()) own.until = 0
  }

  #add({ caller, holder }: OfferedCaller): OwnOffer {
    const own: OwnOffer = { holder, offer: undefined, bytes: 0, until: 0, reading: undefined }
    this.#offers.set(caller, own)
    this.#makeRoom(own)
    return own
  }

  async #read(own: OwnOffer, read: () => Promise<ReadOffer>): Promise<void> {
    try {
      const { offer, ttlMs = this.#usualMs, bytes } = await read()
      own.offer = offer
      own.bytes = bytes
      own.until = performance.now() + Math.min(Math.max(ttlMs, LEAST_MS), DAY_MS)
    } catch {
      // What was read before stays. The server says itself why it refuses, when it is called.
      own.until = performance.now() + LEAST_MS
    } finally {
      own.reading = undefined
    }
    this.#makeRoom(own)
  }

  #makeRoom(latest: OwnOffer): void {
    const { callers, bytes } = this.#limits
    while (this.#offers.size > callers) this.#dropOne(latest, () => 1)
    while (this.#bytes() > bytes && this.#offers.size > 1) this.#dropOne(latest, (own) => own.bytes)
  }

  #bytes(): number {
    return [...this.#offers.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Whoever holds the most loses their oldest. */
  #dropOne(latest: OwnOffer, sizeOf: (own: OwnOffer) => number): void {
    const held = new Shares()
    for (const own of this.#offers.values()) held.add(own.holder, sizeOf(own))
    const others = [...this.#offers].filter(([, own]) => own !== latest)
    const [first] = others.toSorted(([, a], [, b]) => held.of(b.holder) - held.of(a.holder))
    if (first !== undefined) this.#offers.delete(first[0])
  }
}
