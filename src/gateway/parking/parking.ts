/**
 * The parked calls of this process. Each has a time in which it must be answered; then it is cancelled at its server. When
 * it has ended, its result is kept for a while, for a client that did not get it and asks again.
 */
import { unref } from '../../protocol/index.ts'
import { BackendError } from '../errors.ts'
import type { ParkedCall } from './parkedCall.ts'

export interface ParkingLimits {
  readonly maxCalls: number
  readonly maxOfCaller: number
  /** Of what parked calls hold in memory: their arguments, questions and answers, and results that are kept. */
  readonly maxChars: number
  readonly maxCharsOfCaller: number
}

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
const NO_ROOM = 'has asked something, and too many calls wait for answers here already. Answer some of them first.'
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
  /** Of calls that wait. */
  readonly #waiting = new Tally()
  #keptChars = 0
  #isDraining = false
  readonly #onLeave: (() => void)[] = []

  constructor(limits: Partial<ParkingLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits }
  }

  /** The number of calls that wait, or whose results are kept. */
  get size(): number {
    return this.#calls.size
  }

  /** The number of calls that have not ended. */
  get waiting(): number {
    return this.#waiting.all.calls
  }

  find(id: string): ParkedCall | undefined {
    return this.#calls.get(id)?.call
  }

  /** A client is there for this call again. It does not expire while it runs. */
  resume(id: string): ParkedCall | undefined {
    const entry = this.#calls.get(id)
    if (entry === undefined) return undefined
    entry.rounds++
    if (!entry.hasEnded) clearTimeout(entry.timer)
    return entry.call
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
    if (!entry.hasEnded && entry.generation < parked.generation) this.#grow(entry, parked)
    this.leave(call)
    return entry.until
  }

  /** A round of this call is over. */
  leave({ id }: ParkedCall): void {
    const entry = this.#calls.get(id)
    if (entry === undefined || entry.hasEnded || --entry.rounds > 0) return
    clearTimeout(entry.timer)
    entry.timer = unref(setTimeout(() => this.#expire(entry), entry.until - Date.now()))
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
    while (this.#waiting.all.calls > 0) await new Promise<void>((resolve) => void this.#onLeave.push(resolve))
  }

  #enter(call: ParkedCall, { server, caller, chars, parkMs }: Parked): ParkedEntry {
    const refusal = this.#isDraining ? STOPPING : this.#hasRoom(caller, 1, chars) ? undefined : NO_ROOM
    if (refusal !== undefined) {
      const error = new BackendError('BACKEND_BUSY', server, refusal)
      call.cancel(error)
      throw error
    }
    const fresh = { hasEnded: false, rounds: 1, generation: -1, until: 0, timer: undefined }
    const entry: ParkedEntry = { call, server, caller, chars, parkMs, ...fresh }
    this.#calls.set(call.id, entry)
    this.#waiting.add(caller, 1, chars)
    void call.whenEnded().then((result) => this.#keepResult(entry, result))
    return entry
  }

  /** It has asked something else than before. */
  #grow(entry: ParkedEntry, { chars, generation }: Parked): void {
    const more = chars - entry.chars
    if (more > 0 && !this.#hasRoom(entry.caller, 0, more)) {
      const error = new BackendError('BACKEND_BUSY', entry.server, NO_ROOM)
      this.#end(entry, error)
      throw error
    }
    this.#waiting.add(entry.caller, 0, more)
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
    entry.chars = JSON.stringify(result)?.length ?? 0
    this.#calls.set(entry.call.id, entry)
    this.#keptChars += entry.chars
    entry.timer = unref(setTimeout(() => this.#remove(entry), KEPT_AFTER_END_MS))
    for (const each of this.#calls.values()) {
      if (this.#keptChars <= this.#limits.maxChars) return
      if (each.hasEnded) this.#remove(each)
    }
  }

  /** False when it was not there any more. */
  #remove(entry: ParkedEntry): boolean {
    clearTimeout(entry.timer)
    if (this.#calls.get(entry.call.id) !== entry) return false
    this.#calls.delete(entry.call.id)
    if (entry.hasEnded) this.#keptChars -= entry.chars
    else this.#waiting.add(entry.caller, -1, -entry.chars)
    for (const wake of this.#onLeave.splice(0)) wake()
    return true
  }

  #hasRoom(caller: string, calls: number, chars: number): boolean {
    const { maxCalls, maxOfCaller, maxChars, maxCharsOfCaller } = this.#limits
    const { all } = this.#waiting
    const own = this.#waiting.of(caller)
    if (all.calls + calls > maxCalls || own.calls + calls > maxOfCaller) return false
    return all.chars + chars <= maxChars && own.chars + chars <= maxCharsOfCaller
  }
}

/** How many calls there are, and how large: of each caller, and in all. */
class Tally {
  readonly all = { calls: 0, chars: 0 }
  readonly #ofCaller = new Map<string, { readonly calls: number; readonly chars: number }>()

  of(caller: string): { readonly calls: number; readonly chars: number } {
    return this.#ofCaller.get(caller) ?? { calls: 0, chars: 0 }
  }

  add(caller: string, calls: number, chars: number): void {
    const own = this.of(caller)
    this.all.calls += calls
    this.all.chars += chars
    if (own.calls + calls > 0) this.#ofCaller.set(caller, { calls: own.calls + calls, chars: own.chars + chars })
    else this.#ofCaller.delete(caller)
  }
}

/** Whoever answers later is told the same. */
export function expired(server: string, seconds: number): BackendError {
  const sentence = `has waited for this answer for more than ${seconds} seconds, and the call was cancelled there. Call again.`
  return new BackendError('CALL_EXPIRED', server, sentence)
}
