/** How much of a server callers may use: requests at once, and bytes of a result. */
import { type Json, unref } from '../../protocol/index.ts'
import type { BackendConfig } from '../config/index.ts'
import { BackendError, tooLarge, tooMany, tooManyOfCaller } from '../errors.ts'
import { fairShareOf, CallerCounts } from './callerCounts.ts'

/** How long a call takes to end that was ended for another one. */
const RELIEVED_WITHIN_MS = 1000

export class BackendLimits {
  readonly #config: BackendConfig
  readonly #inFlight = new CallerCounts()
  readonly #listening = new CallerCounts()
  readonly #onIdle: (() => void)[] = []
  readonly #onLeft: (() => void)[] = []

  /** Ends a call that waits for an answer, for a call of this caller; false where there is none that may be. */
  readonly relieve: (caller: string) => boolean

  constructor(config: BackendConfig, relieve: (caller: string) => boolean = () => false) {
    this.#config = config
    this.relieve = relieve
  }

  /** The number of requests under way. */
  get inFlight(): number {
    return this.#inFlight.all
  }

  /** Counts a request of a caller, apart from streams that stay open. Gives the function that ends it. */
  enter(caller: string, isListening: boolean): () => void {
    const { name, settings } = this.#config
    const { maxInFlight } = settings
    const counted = isListening ? this.#listening : this.#inFlight
    const share = fairShareOf(maxInFlight)
    if (counted.all >= maxInFlight) throw new BackendError('BACKEND_BUSY', name, tooMany(maxInFlight))
    if (counted.of(caller) >= share) throw new BackendError('BACKEND_BUSY', name, tooManyOfCaller(share, maxInFlight))
    counted.add(caller)
    return () => {
      counted.remove(caller)
      for (const wake of this.#onLeft.splice(0)) wake()
      if (this.inFlight === 0) for (const wake of this.#onIdle.splice(0)) wake()
    }
  }

  /** Counts a request that is no stream, where need be in the place of a call that waits for an answer. */
  async entered(caller: string): Promise<() => void> {
    const isFull = this.inFlight >= this.#config.settings.maxInFlight
    if (isFull && this.relieve(caller)) await heard(this.#onLeft, RELIEVED_WITHIN_MS)
    return this.enter(caller, false)
  }

  /** Resolves when no request is under way, at the latest after this time. */
  async idle(withinMs: number): Promise<void> {
    if (this.inFlight > 0) await heard(this.#onIdle, withinMs)
  }

  assertSize(result: Json): void {
    const { name, settings } = this.#config
    if (isLarger(result, settings.maxResultBytes))
      throw new BackendError('BACKEND_INVALID', name, tooLarge(settings.maxResultBytes))
  }
}

function heard(listeners: (() => void)[], withinMs: number): Promise<void> {
  return new Promise<void>((resolve) => {
    const late = unref(setTimeout(resolve, withinMs))
    listeners.push(() => {
      clearTimeout(late)
      resolve()
    })
  })
}

/** No character takes more bytes in JSON: `\u0000`. */
const CHAR_BYTES = 6
/** The most that any other value takes, with what stands around it: `-1.7976931348623157e+308,`. */
const VALUE_BYTES = 32

/** Whether a result is too large, without writing it where it is far from that. */
export function isLarger(result: Json, maxBytes: number): boolean {
  return upperBoundBytes(result) > maxBytes && Buffer.byteLength(JSON.stringify(result)) > maxBytes
}

/** An upper bound of its size in JSON. Goes by lengths, so that long texts cost nothing. */
function upperBoundBytes(result: Json): number {
  const open: unknown[] = [result]
  let bytes = 0
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    bytes += VALUE_BYTES
    if (typeof value === 'string') bytes += value.length * CHAR_BYTES
    else if (Array.isArray(value)) for (const each of value) open.push(each)
    else if (typeof value === 'object' && value !== null)
      for (const [name, each] of Object.entries(value)) {
        bytes += name.length * CHAR_BYTES
        open.push(each)
      }
  }
  return bytes
}
