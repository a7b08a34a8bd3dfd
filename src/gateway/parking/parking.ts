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
}

interface ParkedEntry {
  readonly call: ParkedCall
  readonly caller: string
  chars: number
  hasEnded: boolean
  timer: ReturnType<typeof setTimeout> | undefined
}

const KEPT_AFTER_END_MS = 60_000
const NO_ROOM = 'has asked something, and too many calls wait for answers here already. Answer some of them first.'
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

  constructor(limits: Partial<ParkingLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits }
  }

  /** The number of calls that wait, or whose results are kept. */
  get size(): number {
    return this.#calls.size
  }

  find(id: string): ParkedCall | undefined {
    return this.#calls.get(id)?.call
  }

  /** A client is there for this call again. It does not expire while it runs. */
  resume(id: string): ParkedCall | undefined {
    const entry = this.#calls.get(id)
    if (entry !== undefined && !entry.hasEnded) clearTimeout(entry.timer)
    return entry?.call
  }

  /** Keeps a call that has asked, so that its next round finds it. A call that finds no room is ended. */
  keep(call: ParkedCall, parked: Parked): void {
    const entry = this.#calls.get(call.id) ?? this.#enter(call, parked)
    if (entry.hasEnded) return
    this.#waiting.add(entry.caller, 0, parked.chars - entry.chars)
    entry.chars = parked.chars
    clearTimeout(entry.timer)
    entry.timer = unref(setTimeout(() => this.#expire(entry, parked), parked.parkMs))
  }

  /** Ends all calls: nobody can answer them any more. */
  close(): void {
    for (const entry of this.#calls.values()) {
      this.#remove(entry)
      entry.call.cancel()
    }
  }

  #enter(call: ParkedCall, { server, caller, chars }: Parked): ParkedEntry {
    if (!this.#hasRoom(caller, chars)) {
      const error = new BackendError('BACKEND_BUSY', server, NO_ROOM)
      call.cancel(error)
      throw error
    }
    const entry: ParkedEntry = { call, caller, chars, hasEnded: false, timer: undefined }
    this.#calls.set(call.id, entry)
    this.#waiting.add(caller, 1, chars)
    void call.whenEnded().then((result) => this.#keepResult(entry, result))
    return entry
  }

  #expire(entry: ParkedEntry, { server, parkMs }: Parked): void {
    this.#remove(entry)
    entry.call.cancel(expired(server, parkMs / 1000))
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
    if (!this.#calls.delete(entry.call.id)) return false
    if (entry.hasEnded) this.#keptChars -= entry.chars
    else this.#waiting.add(entry.caller, -1, -entry.chars)
    return true
  }

  #hasRoom(caller: string, chars: number): boolean {
    const { maxCalls, maxOfCaller, maxChars, maxCharsOfCaller } = this.#limits
    const { all } = this.#waiting
    const own = this.#waiting.of(caller)
    if (all.calls >= maxCalls || own.calls >= maxOfCaller) return false
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
