/**
 * A server's lists by caller, for callers with their own credentials there. A caller never gets the lists of another:
 * if its own cannot be read in time, it gets the last ones read for it. Callers with equal lists share one copy, so
 * that a made-up token costs next to nothing.
 */
import { DAY_MS, settledWithin } from '../../../protocol/index.ts'
import { Quota } from '../../../state/quota/index.ts'
import type { ServerLists, ReadLists } from './serverLists.ts'

/** The caller that the lists belong to. */
export interface ListingCaller {
  readonly caller: string
  /** The caller whose quota they count in. */
  readonly quotaCaller: string
}

export interface CallerListLimits {
  /** Maximum number of callers whose lists are kept. */
  readonly callers: number
  /** Maximum size of all different lists together. */
  readonly bytes: number
}

interface CallersLists extends ListingCaller {
  lists: ServerLists | undefined
  digest: string
  bytes: number
  /** Expiry, in milliseconds of the process. */
  until: number
  /** The end of the last read, in the same milliseconds. */
  readAt: number
  reading: Promise<void> | undefined
}

const LIMITS: CallerListLimits = { callers: 1000, bytes: 16 * 1024 * 1024 }
/** Minimum time between two reads, whatever `ttlMs` a server gives, and after a failed one. */
const LEAST_MS = 1000

export class ListsByCaller {
  readonly #limits: CallerListLimits
  /** The ttl of lists whose server gives none. */
  readonly #usualMs: number
  readonly #byCaller = new Map<string, CallersLists>()
  readonly #quota: Quota<CallersLists>

  constructor(usualMs: number, limits: Partial<CallerListLimits> = {}) {
    this.#usualMs = usualMs
    this.#limits = { ...LIMITS, ...limits }
    const all = { places: this.#limits.callers }
    this.#quota = new Quota({ all, evict: ({ caller }) => this.#byCaller.delete(caller) })
  }

  /** The last lists of this caller; undefined if none are known. */
  known({ caller }: ListingCaller): ServerLists | undefined {
    return this.#byCaller.get(caller)?.lists
  }

  /** Whether a caller still has these lists. */
  keeps(lists: ServerLists): boolean {
    for (const own of this.#byCaller.values()) if (own.lists === lists) return true
    return false
  }

  /** The last lists of this caller, refreshed if expired; waits at most `waitMs`. */
  async latest(of: ListingCaller, read: () => Promise<ReadLists>, waitMs: number): Promise<ServerLists | undefined> {
    const own = this.#byCaller.get(of.caller) ?? this.#add(of)
    if (performance.now() >= own.until) {
      own.reading ??= this.#read(own, read)
      await settledWithin(own.reading, waitMs)
    }
    return own.lists
  }

  /** Expires the lists of this caller, unless they were read a moment ago. */
  expireOf({ caller }: ListingCaller): void {
    const own = this.#byCaller.get(caller)
    if (own !== undefined) own.until = Math.min(own.until, own.readAt + LEAST_MS)
  }

  expire(): void {
    for (const own of this.#byCaller.values()) own.until = 0
  }

  #add(of: ListingCaller): CallersLists {
    const unread = { lists: undefined, digest: '', bytes: 0, until: 0, readAt: 0, reading: undefined }
    const own: CallersLists = { ...of, ...unread }
    this.#byCaller.set(of.caller, own)
    this.#count(own)
    return own
  }

  async #read(own: CallersLists, read: () => Promise<ReadLists>): Promise<void> {
    try {
      const { lists, ttlMs = this.#usualMs, bytes, digest } = await read()
      own.lists = this.#equalTo(digest) ?? lists
      own.digest = digest
      own.bytes = bytes
      own.until = performance.now() + Math.min(Math.max(ttlMs, LEAST_MS), DAY_MS)
    } catch {
      // The previous lists stay. A call will get the server's own error.
      own.until = performance.now() + LEAST_MS
    } finally {
      own.readAt = performance.now()
      own.reading = undefined
    }
    if (this.#byCaller.get(own.caller) === own) this.#count(own)
  }

  #count(own: CallersLists): void {
    this.#quota.put(own, { caller: own.quotaCaller, chars: own.bytes, evictable: 'never' })
    while (this.#bytes() > this.#limits.bytes && this.#quota.evict('chars')) continue
    this.#quota.setEvictable(own, 'always')
  }

  /** Another caller's lists with the same digest. */
  #equalTo(digest: string): ServerLists | undefined {
    for (const own of this.#byCaller.values()) if (own.digest === digest) return own.lists
    return undefined
  }

  #bytes(): number {
    const sizes = new Map(Array.from(this.#byCaller.values(), ({ lists, bytes }) => [lists, bytes]))
    return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0)
  }
}
