/**
 * What a server lists to each caller, where callers have credentials of their own there. A caller never gets what another
 * one was listed: where their own lists cannot be read in time, they get the last that were read for them.
 */
import { DAY_MS, settledWithin } from '../../../protocol/index.ts'
import type { ServerLists, ListLimits, ReadLists } from './serverLists.ts'
import { CallerCounts } from '../callerCounts.ts'

/** Whose lists they are, and for whom their size is counted. */
export interface ListingCaller {
  readonly caller: string
  readonly holder: string
}

export interface CallerListLimits {
  /** How many callers' lists are kept. */
  readonly callers: number
  /** Of all of them together. */
  readonly bytes: number
}

interface CallersLists {
  readonly holder: string
  lists: ServerLists | undefined
  bytes: number
  /** Until when it counts as it is, in milliseconds of the process. */
  until: number
  reading: Promise<void> | undefined
}

/** The limits of one caller's lists. */
export const ONE_CALLER: ListLimits = { pages: 1000, entries: 5000, bytes: 4 * 1024 * 1024 }
const LIMITS: CallerListLimits = { callers: 1000, bytes: 64 * 1024 * 1024 }
/** However short the time is that a server gives, and after a reading that failed. */
const LEAST_MS = 1000

export class ListsByCaller {
  readonly #limits: CallerListLimits
  /** Of a server that does not say how long its lists stay as they are. */
  readonly #usualMs: number
  readonly #byCaller = new Map<string, CallersLists>()

  constructor(usualMs: number, limits: Partial<CallerListLimits> = {}) {
    this.#usualMs = usualMs
    this.#limits = { ...LIMITS, ...limits }
  }

  /** What this caller was listed last; undefined where that is not known. */
  known({ caller }: ListingCaller): ServerLists | undefined {
    return this.#byCaller.get(caller)?.lists
  }

  /** The same, once it was read again where it may have changed; or after so many milliseconds. */
  async latest(of: ListingCaller, read: () => Promise<ReadLists>, waitMs: number): Promise<ServerLists | undefined> {
    const own = this.#byCaller.get(of.caller) ?? this.#add(of)
    if (performance.now() >= own.until) {
      own.reading ??= this.#read(own, read)
      await settledWithin(own.reading, waitMs)
    }
    return own.lists
  }

  /** All lists may have changed. */
  expire(): void {
    for (const own of this.#byCaller.values()) own.until = 0
  }

  #add({ caller, holder }: ListingCaller): CallersLists {
    const own: CallersLists = { holder, lists: undefined, bytes: 0, until: 0, reading: undefined }
    this.#byCaller.set(caller, own)
    this.#makeRoom(own)
    return own
  }

  async #read(own: CallersLists, read: () => Promise<ReadLists>): Promise<void> {
    try {
      const { lists, ttlMs = this.#usualMs, bytes } = await read()
      own.lists = lists
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

  #makeRoom(latest: CallersLists): void {
    const { callers, bytes } = this.#limits
    while (this.#byCaller.size > callers) this.#dropOne(latest, () => 1)
    while (this.#bytes() > bytes && this.#byCaller.size > 1) this.#dropOne(latest, (own) => own.bytes)
  }

  #bytes(): number {
    return [...this.#byCaller.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Whoever holds the most loses their oldest. */
  #dropOne(latest: CallersLists, sizeOf: (own: CallersLists) => number): void {
    const held = new CallerCounts()
    for (const own of this.#byCaller.values()) held.add(own.holder, sizeOf(own))
    const others = [...this.#byCaller].filter(([, own]) => own !== latest)
    const [first] = others.toSorted(([, a], [, b]) => held.of(b.holder) - held.of(a.holder))
    if (first !== undefined) this.#byCaller.delete(first[0])
  }
}
