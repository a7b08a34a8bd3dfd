/**
 * The parked calls of this process. A call that gets no answer in time is cancelled at its server. The result of a
 * finished call is kept for a minute, for a client that did not get it and asks again.
 *
 * A caller over its own limit is refused. Over the limit of all callers, the largest caller loses its oldest waiting
 * calls, if it has more than the caller who needs the place. A call with a round in progress is not evicted.
 */
import { unref } from '../../protocol/index.ts'
import { Quota } from '../../state/quota/index.ts'
import { BackendError } from '../errors.ts'
import { Waiters } from '../waiting.ts'
import type { ParkedCall } from './parkedCall.ts'

/**
 * Limits of waiting calls, and separately of kept results, in characters of arguments, questions, answers and results.
 */
interface ParkingLimits {
  readonly maxCalls: number
  readonly maxChars: number
  readonly maxOfCaller: number
  readonly maxCharsOfCaller: number
}

/** The caller and size of a parked call. */
export interface Parked {
  readonly server: string
  readonly caller: string
  readonly chars: number
  readonly parkMs: number
  /** Each generation may wait for the whole `parkMs`. */
  readonly generation: number
}

interface ParkedEntry {
  readonly call: ParkedCall
  readonly server: string
  readonly caller: string
  readonly parkMs: number
  chars: number
  hasEnded: boolean
  /** The number of rounds in progress for this call. At 0 the call waits for its client. */
  rounds: number
  generation: number
  /** When its wait for the client ends, in milliseconds since 1970. */
  until: number
  timer: ReturnType<typeof setTimeout> | undefined
}

const KEPT_AFTER_END_MS = 60_000
const NO_ROOM =
  'has asked something, and too many calls wait for answers here already. What the call did until then may have happened. Answer some of them first.'
const STOPPING =
  'has asked something, and this gateway is being stopped, so no client could come back with the answer. What the call did until then may have happened. Call again.'
const LIMITS: ParkingLimits = {
  maxCalls: 10_000,
  maxOfCaller: 100,
  maxChars: 64 * 1024 * 1024,
  maxCharsOfCaller: 16 * 1024 * 1024,
}

export class Parking {
  readonly #limits: ParkingLimits
  readonly #calls = new Map<string, ParkedEntry>()
  /** Calls that have not ended. Those without a round in progress may be evicted. */
  readonly #waiting: Quota<ParkedEntry>
  /** The same calls by server. At a server's own limit one of them is evicted. */
  readonly #waitingAt = new Map<string, Quota<ParkedEntry>>()
  /** Finished calls, with their results. */
  readonly #kept: Quota<ParkedEntry>
  /** The ids of evicted calls, oldest first. */
  readonly #evicted = new Set<string>()
  #isDraining = false
  readonly #left = new Waiters()

  constructor(limits: Partial<ParkingLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits }
    const { maxCalls, maxChars, maxOfCaller, maxCharsOfCaller } = this.#limits
    const all = { places: maxCalls, chars: maxChars }
    const caller = { places: maxOfCaller, chars: maxCharsOfCaller }
    this.#waiting = new Quota({ all, caller, evict: (entry) => this.#evict(entry) })
    this.#kept = new Quota({ all, evict: (entry) => this.#remove(entry) })
  }

  /** The number of calls that wait, or whose results are kept. */
  get size(): number {
    return this.#calls.size
  }

  /** The number of calls that have not ended. */
  get waiting(): number {
    return this.#waiting.all.places
  }

  find(id: string): ParkedCall | undefined {
    return this.#calls.get(id)?.call
  }

  /** Begins another round of a call. The call does not expire during the round. */
  resume(id: string): ParkedCall | undefined {
    const entry = this.#calls.get(id)
    if (entry === undefined) return undefined
    entry.rounds++
    if (entry.hasEnded) return entry.call
    clearTimeout(entry.timer)
    for (const quota of this.#quotas(entry)) quota.setEvictable(entry, 'never')
    return entry.call
  }

  /** Whether this call was evicted, as far as remembered. */
  hasEvicted(id: string): boolean {
    return this.#evicted.has(id)
  }

  /**
   * Counts a call before it has asked. Ends a call with the same id, which another process has claimed in the meantime.
   */
  enter(call: ParkedCall, parked: Parked): void {
    const before = this.#calls.get(call.id)
    if (before !== undefined) this.#end(before)
    this.#enter(call, parked)
  }

  /** Keeps a call that has asked until its next round; returns its expiry. Over the limits the call is ended. */
  keep(call: ParkedCall, parked: Parked): number {
    const entry = this.#calls.get(call.id) ?? this.#enter(call, parked)
    if (entry.call === call && !entry.hasEnded && entry.generation < parked.generation) this.#grow(entry, parked)
    this.leave(call)
    return entry.until
  }

  leave(call: ParkedCall): void {
    const entry = this.#calls.get(call.id)
    if (entry?.call !== call || entry.hasEnded || --entry.rounds > 0) return
    for (const quota of this.#quotas(entry)) quota.setEvictable(entry, 'if-larger')
    clearTimeout(entry.timer)
    entry.timer = unref(setTimeout(() => this.#expire(entry), entry.until - Date.now()))
  }

  /**
   * Evicts a parked call at this server to make room for this caller. Returns false unless another caller has more calls there.
   */
  evictFor(caller: string, server: string): boolean {
    return this.#waitingAt.get(server)?.evict('places', caller) ?? false
  }

  /**
   * Drains before the process ends. For `patienceMs`, parked calls can be answered, and so can running calls that may
   * still ask (`idle`). After that, parked calls are ended and no call is parked; running calls continue.
   */
  async drain(patienceMs: number, idle: () => Promise<void>): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, patienceMs)
    await Promise.race([this.#idle(idle), late.promise])
    clearTimeout(timer)
    this.#isDraining = true
    for (const entry of this.#calls.values()) {
      if (entry.rounds === 0 && !entry.hasEnded) this.#end(entry)
    }
  }

  /** Resolves when no call waits for its client, and no running call may still ask. */
  async #idle(idle: () => Promise<void>): Promise<void> {
    for (;;) {
      await idle()
      if (this.waiting === 0) return
      await this.#left.wait()
    }
  }

  #enter(call: ParkedCall, { server, caller, chars, parkMs }: Parked): ParkedEntry {
    const fresh = { hasEnded: false, rounds: 1, generation: -1, until: 0, timer: undefined }
    const entry: ParkedEntry = { call, server, caller, chars, parkMs, ...fresh }
    const fits =
      !this.#isDraining && this.#quotas(entry).every((quota) => quota.put(entry, { caller, chars, evictable: 'never' }))
    if (!fits) {
      const error = new BackendError('BACKEND_BUSY', server, this.#isDraining ? STOPPING : NO_ROOM)
      call.cancel(error)
      throw error
    }
    this.#calls.set(call.id, entry)
    void call.whenEnded().then((result) => this.#keepResult(entry, result))
    return entry
  }

  /** Updates the size of a call after another question. */
  #grow(entry: ParkedEntry, { chars, generation }: Parked): void {
    entry.chars = chars
    if (!this.#waiting.put(entry, { caller: entry.caller, chars, evictable: 'never' })) {
      const error = new BackendError('BACKEND_BUSY', entry.server, NO_ROOM)
      this.#end(entry, error)
      throw error
    }
    entry.generation = generation
    entry.until = Date.now() + entry.parkMs
  }

  #expire(entry: ParkedEntry): void {
    this.#end(entry, expired(entry.server, entry.parkMs / 1000))
  }

  #end(entry: ParkedEntry, why?: Error): void {
    this.#remove(entry)
    entry.call.cancel(why)
  }

  #keepResult(entry: ParkedEntry, result: unknown): void {
    if (!this.#remove(entry)) return
    entry.hasEnded = true
    entry.chars += JSON.stringify(result)?.length ?? 0
    this.#calls.set(entry.call.id, entry)
    this.#kept.put(entry, { caller: entry.caller, chars: entry.chars })
    entry.timer = unref(setTimeout(() => this.#remove(entry), KEPT_AFTER_END_MS))
  }

  /** Returns false if the call was already removed. */
  #remove(entry: ParkedEntry): boolean {
    clearTimeout(entry.timer)
    if (this.#calls.get(entry.call.id) !== entry) return false
    this.#calls.delete(entry.call.id)
    for (const quota of [this.#kept, ...this.#quotas(entry)]) quota.delete(entry)
    this.#left.wakeAll()
    return true
  }

  /** The quotas in which a call counts while it waits. */
  #quotas({ server }: ParkedEntry): readonly Quota<ParkedEntry>[] {
    const there = this.#waitingAt.get(server) ?? new Quota({ evict: (entry: ParkedEntry) => this.#evict(entry) })
    this.#waitingAt.set(server, there)
    return [this.#waiting, there]
  }

  #evict(entry: ParkedEntry): void {
    this.#end(entry)
    this.#evicted.add(entry.call.id)
    if (this.#evicted.size <= this.#limits.maxCalls) return
    for (const oldest of this.#evicted) return void this.#evicted.delete(oldest)
  }
}

/** The error of an expired call, and of later answers to it. */
export function expired(server: string, seconds: number): BackendError {
  const sentence = `has waited for this answer for more than ${seconds} seconds, and the call was cancelled there. Call again.`
  return new BackendError('CALL_EXPIRED', server, sentence)
}
