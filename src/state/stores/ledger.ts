/**
 * A ledger makes work single-use. The first to claim an id does the work; later claims of the id learn that the work is
 * running, or its result.
 *
 * Invariants, for every ledger:
 * - of all claims of one id before it expires, exactly one is fresh;
 * - a claim whose process died stays `running` until it expires: nobody can know how far the work came;
 * - the first settled value is kept, and `release` does not remove it;
 * - a value is written as JSON and read back, and undefined stays undefined.
 */
import { assertOptionNames } from '../../protocol/index.ts'
import { StateError } from '../errors.ts'
import { jsonText } from '../jsonText.ts'
import { ExpiringMap } from './expiry.ts'

export type Claim = { state: 'fresh' } | { state: 'running' } | { state: 'done'; value: unknown }

export interface Ledger {
  /**
   * Claims an id. The claim expires after `ttlSeconds`. A ledger with little room may count claims by their holder. Of a
   * holder in two lines the first is its group, such as all who come from one address.
   */
  claim(id: string, ttlSeconds: number, holder?: string): Promise<Claim>
  /** Records the result of the claimed work. Later claims get it until the claim expires. */
  settle(id: string, value: unknown): Promise<void>
  /** Removes a claim whose work was not done, so that the id can be claimed again at once. */
  release(id: string): Promise<void>
}

/** Refuses a claim with an invalid id or an invalid time. */
export function assertClaim(id: string, ttlSeconds: number): void {
  assertId(id)
  if (Number.isFinite(ttlSeconds) && ttlSeconds > 0) return
  throw new StateError('STATE_OPTION', 'ttlSeconds is a positive, finite number of seconds.')
}

/** Refuses ids with lone surrogates: UTF-8 replaces each by the same character, so two ids would become one. */
export function assertId(id: string): void {
  if (typeof id === 'string' && id.isWellFormed()) return
  throw new StateError('STATE_OPTION', 'An id is a string of well-formed Unicode.')
}

export function claimMissing(): StateError {
  const advice = 'claim it first, and choose ttlSeconds longer than the work takes'
  return new StateError('LEDGER_UNKNOWN', `There is no claim with this id, or it has expired; ${advice}.`)
}

export interface MemoryLedgerOptions {
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
  /** The maximum number of live claims. Further ones are refused: dropping one would repeat its work. @default 100000 */
  maxEntries?: number
  /**
   * How many of them one holder may have, so that one caller does not use up the room of all. A group of holders may have
   * half of all. @default a tenth
   */
  maxPerHolder?: number
}

/** The group of a holder, which is the first line of its name; the second, which may be empty, says who of it. */
export function groupOf(holder: string): string {
  const end = holder.indexOf('\n')
  return end < 0 ? holder : holder.slice(0, end)
}

/** `text` is the settled value as JSON, or undefined if the value was undefined. */
type LedgerEntry = { done: false; expiresAtMs: number } | { done: true; text: string | undefined }

/** A ledger in the memory of this process. */
export function memoryLedger(options: MemoryLedgerOptions = {}): Ledger {
  assertOptionNames(options, { clock: true, maxEntries: true, maxPerHolder: true }, 'memoryLedger')
  const { clock = Date.now, maxEntries = 100_000, maxPerHolder = Math.ceil(maxEntries / 10) } = options
  const entries = new ExpiringMap<LedgerEntry>(clock)
  const holders = new Holders(clock, maxPerHolder, Math.ceil(maxEntries / 2))

  return {
    async claim(id, ttlSeconds, holder) {
      assertClaim(id, ttlSeconds)
      const entry = entries.get(id)
      if (entry?.done) return { state: 'done', value: entry.text === undefined ? undefined : JSON.parse(entry.text) }
      if (entry) return { state: 'running' }
      if (entries.size >= maxEntries) throw full(maxEntries)
      if (holder !== undefined) holders.assertRoomFor(holder)
      const expiresAtMs = clock() + ttlSeconds * 1000
      holders.add(holder, id, expiresAtMs)
      entries.set(id, { done: false, expiresAtMs }, expiresAtMs)
      return { state: 'fresh' }
    },

    async settle(id, value) {
      const entry = entries.get(id)
      if (!entry) throw claimMissing()
      if (entry.done) return
      const text = value === undefined ? undefined : jsonText(value)
      entries.set(id, { done: true, text }, entry.expiresAtMs)
    },

    async release(id) {
      if (entries.get(id)?.done !== false) return
      entries.delete(id)
      holders.delete(id)
    },
  }
}

function full(maxEntries: number): StateError {
  const advice = 'raise maxEntries, shorten ttlSeconds, or use a ledger on disk'
  return new StateError('LEDGER_FULL', `The ledger has ${maxEntries} live claims and accepts no more; ${advice}.`)
}

function fullFor(who: string, max: number, option: string): StateError {
  const advice = `wait until some expire, or raise ${option}`
  return new StateError('LEDGER_FULL', `${who} ${max} live claims and gets no more; ${advice}.`)
}

const SWEEP_ABOVE = 1000

/** Which claims each holder has, and each group. */
class Holders {
  readonly #clock: () => number
  readonly #maxPerHolder: number
  readonly #maxPerGroup: number
  readonly #claims = new Map<string, ExpiringMap<true>>()
  readonly #holderOf: ExpiringMap<string>
  #sweepAbove = SWEEP_ABOVE

  constructor(clock: () => number, maxPerHolder: number, maxPerGroup: number) {
    this.#clock = clock
    this.#maxPerHolder = maxPerHolder
    this.#maxPerGroup = maxPerGroup
    this.#holderOf = new ExpiringMap(clock)
  }

  assertRoomFor(holder: string): void {
    const group = groupOf(holder)
    if (group !== holder && this.#count(group) >= this.#maxPerGroup)
      throw fullFor('The group of this caller has', this.#maxPerGroup, 'maxEntries')
    if (!holder.endsWith('\n') && this.#count(holder) >= this.#maxPerHolder)
      throw fullFor('This caller has', this.#maxPerHolder, 'maxPerHolder')
  }

  #count(name: string): number {
    return this.#claims.get(name)?.size ?? 0
  }

  add(holder: string | undefined, id: string, expiresAtMs: number): void {
    if (holder === undefined) return
    this.#sweep()
    for (const name of new Set([groupOf(holder), holder])) {
      const claims = this.#claims.get(name) ?? new ExpiringMap<true>(this.#clock)
      claims.set(id, true, expiresAtMs)
      this.#claims.set(name, claims)
    }
    this.#holderOf.set(id, holder, expiresAtMs)
  }

  delete(id: string): void {
    const holder = this.#holderOf.get(id)
    if (holder === undefined) return
    this.#holderOf.delete(id)
    for (const name of [groupOf(holder), holder]) this.#claims.get(name)?.delete(id)
  }

  /** Forgets holders without claims, when there are twice as many as the last time. */
  #sweep(): void {
    if (this.#claims.size < this.#sweepAbove) return
    for (const [holder, claims] of this.#claims) if (claims.size === 0) this.#claims.delete(holder)
    this.#sweepAbove = Math.max(SWEEP_ABOVE, 2 * this.#claims.size)
  }
}
