/**
 * The parked calls of this process. Each has a time in which it must be answered; then it is cancelled at its server. When
 * it has ended, its result is kept for a while, for a client that did not get it and asks again.
 *
 * A caller who has too many gets no more. Where all together are too many, the largest holder loses those that wait longest, if
 * it holds more than the caller who needs the room. A call whose client is there is not taken.
 */
import { unref } from '../../protocol/index.ts'
import { BackendError } from '../errors.ts'
import type { ParkedCall } from './parkedCall.ts'
import { type Amount, Room } from './room.ts'
import { type ParkingLimits, WaitingRoom } from './waitingRoom.ts'

/** Whose call it is, and how large. */
export interface Parked {
  readonly server: string
  readonly caller: string
  readonly chars: number
  readonly parkMs: number
  /** For an answer to another generation it may wait anew. */
  readonly generation: number
}

interface ParkedEntry {
  readonly call: ParkedCall
  readonly server: string
  readonly caller: string
  readonly parkMs: number
  chars: number
  hasEnded: boolean
  /** How many rounds of its client are under way. It waits for its client when there is none. */
  rounds: number
  generation: number
  /** Until when it waits for its client, in milliseconds since 1970. */
  until: number
  timer: ReturnType<typeof setTimeout> | undefined
}

const KEPT_AFTER_END_MS = 60_000
const NO_MORE: Amount = { calls: 0, chars: 0 }
const NO_ROOM =
  'has asked something, and too many calls wait for answers here already. What the call did until then may have happened. Answer some of them first.'
const STOPPING =
  'has asked something, and this gateway is being stopped, so that nobody could come back with the answer. What the call did until then may have happened. Call again.'
const LIMITS: ParkingLimits = {
  maxCalls: 10_000,
  maxOfCaller: 100,
  maxChars: 64 * 1024 * 1024,
  maxCharsOfCaller: 16 * 1024 * 1024,
}

export class Parking {
  readonly #limits: ParkingLimits
  readonly #calls = new Map<string, ParkedEntry>()
  /** Calls that have not ended. Those whose clients are not there may be taken. */
  readonly #waiting: WaitingRoom<ParkedEntry>
  /** Calls that have ended, with their results. */
  readonly #kept: Room<ParkedEntry>
  /** The ids of calls that were ended for want of room, oldest first. */
  readonly #evicted = new Set<string>()
  #isDraining = false
  readonly #onLeave: (() => void)[] = []

  constructor(limits: Partial<ParkingLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits }
    this.#waiting = new WaitingRoom(this.#limits)
    this.#kept = new Room(this.#limits)
  }

  /** The number of calls that wait, or whose results are kept. */
  get size(): number {
    return this.#calls.size
  }

  /** The number of calls that have not ended. */
  get waiting(): number {
    return this.#waiting.calls
  }

  find(id: string): ParkedCall | undefined {
    return this.#calls.get(id)?.call
  }

  /** A client is there for this call again. It does not expire while it runs. */
  resume(id: string): ParkedCall | undefined {
    const entry = this.#calls.get(id)
    if (entry === undefined) return undefined
    entry.rounds++
    if (entry.hasEnded) return entry.call
    clearTimeout(entry.timer)
    this.#waiting.setTakeable(entry, false)
    return entry.call
  }

  /** Whether this call was ended because there was no room, as far as that is remembered. */
  hasEvicted(id: string): boolean {
    return this.#evicted.has(id)
  }

  /** Notes a call before it has asked. One of the same id, which another process has taken over since, is ended. */
  enter(call: ParkedCall, parked: Parked): void {
    const before = this.#calls.get(call.id)
    if (before !== undefined) this.#end(before)
    this.#enter(call, parked)
  }

  /**
   * Keeps a call that has asked, so that its next round finds it; gives the time until which it does. A call that finds no
   * room is ended.
   */
  keep(call: ParkedCall, parked: Parked): number {
    const entry = this.#calls.get(call.id) ?? this.#enter(call, parked)
    if (entry.call === call && !entry.hasEnded && entry.generation < parked.generation) this.#grow(entry, parked)
    this.leave(call)
    return entry.until
  }

  /** A round of this call is over. */
  leave(call: ParkedCall): void {
    const entry = this.#calls.get(call.id)
    if (entry?.call !== call || entry.hasEnded || --entry.rounds > 0) return
    this.#waiting.setTakeable(entry, true)
    clearTimeout(entry.timer)
    entry.timer = unref(setTimeout(() => this.#expire(entry), entry.until - Date.now()))
  }

  /**
   * A server has no room for a call of this caller: whoever has the most calls that wait there loses one, if they are more than
   * this caller would have. False where nobody has.
   */
  relieve(server: string, caller: string): boolean {
    const loser = this.#waiting.loserAt(server, caller)
    if (loser !== undefined) this.#evict(loser)
    return loser !== undefined
  }

  /**
   * This process is about to end: from now on no call is parked here, and those that are have so long to be answered. Then
   * those that still wait are ended; what runs, goes on.
   */
  async drain(patienceMs: number): Promise<void> {
    this.#isDraining = true
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, patienceMs)
    await Promise.race([this.#idle(), late.promise])
    clearTimeout(timer)
    for (const entry of this.#calls.values()) {
      if (entry.rounds === 0 && !entry.hasEnded) this.#end(entry)
    }
  }

  /** Resolves when no call waits for its client. */
  async #idle(): Promise<void> {
    while (this.#waiting.calls > 0) await new Promise<void>((resolve) => void this.#onLeave.push(resolve))
  }

  #enter(call: ParkedCall, { server, caller, chars, parkMs }: Parked): ParkedEntry {
    const refusal = this.#isDraining ? STOPPING : this.#makeRoom(caller, { calls: 1, chars }) ? undefined : NO_ROOM
    if (refusal !== undefined) {
      const error = new BackendError('BACKEND_BUSY', server, refusal)
      call.cancel(error)
      throw error
    }
    const fresh = { hasEnded: false, rounds: 1, generation: -1, until: 0, timer: undefined }
    const entry: ParkedEntry = { call, server, caller, chars, parkMs, ...fresh }
    this.#calls.set(call.id, entry)
    this.#waiting.add(entry)
    void call.whenEnded().then((result) => this.#keepResult(entry, result))
    return entry
  }

  /** It has asked something else than before. */
  #grow(entry: ParkedEntry, { chars, generation }: Parked): void {
    const more = chars - entry.chars
    if (more > 0 && !this.#makeRoom(entry.caller, { calls: 0, chars: more })) {
      const error = new BackendError('BACKEND_BUSY', entry.server, NO_ROOM)
      this.#end(entry, error)
      throw error
    }
    this.#waiting.grow(entry, more)
    entry.chars = chars
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
    this.#kept.add(entry)
    this.#kept.setTakeable(entry, true)
    entry.timer = unref(setTimeout(() => this.#remove(entry), KEPT_AFTER_END_MS))
    while (!this.#kept.fits(NO_MORE)) {
      const loser = this.#kept.next(NO_MORE)
      if (loser === undefined) return
      this.#remove(loser)
    }
  }

  /** False when it was not there any more. */
  #remove(entry: ParkedEntry): boolean {
    clearTimeout(entry.timer)
    if (this.#calls.get(entry.call.id) !== entry) return false
    this.#calls.delete(entry.call.id)
    if (entry.hasEnded) this.#kept.delete(entry)
    else this.#waiting.delete(entry)
    for (const wake of this.#onLeave.splice(0)) wake()
    return true
  }

  #makeRoom(caller: string, more: Amount): boolean {
    return this.#waiting.makeRoom(caller, more, (entry) => this.#evict(entry))
  }

  #evict(entry: ParkedEntry): void {
    this.#end(entry)
    this.#evicted.add(entry.call.id)
    if (this.#evicted.size <= this.#limits.maxCalls) return
    for (const oldest of this.#evicted) return void this.#evicted.delete(oldest)
  }
}

/** Whoever answers later is told the same. */
export function expired(server: string, seconds: number): BackendError {
  const sentence = `has waited for this answer for more than ${seconds} seconds, and the call was cancelled there. Call again.`
  return new BackendError('CALL_EXPIRED', server, sentence)
}
