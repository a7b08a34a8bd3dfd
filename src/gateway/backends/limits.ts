/** The limits of a server: concurrent requests, and the bytes and questions of a result. */
import { MAX_QUESTIONS } from '../../client/internal.ts'
import { areQuestions, type Json } from '../../protocol/index.ts'
import { fairShareOf, Quota } from '../../state/quota/index.ts'
import type { BackendConfig } from '../config/index.ts'
import { Waiters } from '../waiting.ts'
import { sizeOf } from './lists/serverLists.ts'
import { BackendError, tooLarge, tooMany, tooManyOfCaller, tooManyQuestions, WRONG_FORM } from '../errors.ts'

/** Minimum size limit of messages: lists must fit, however small `maxResultBytes` is. */
const LEAST_MESSAGE_BYTES = 16 * 1024 * 1024
/** Allowance for the JSON-RPC message around a result. */
const ENVELOPE_BYTES = 64 * 1024

/** The timeouts of a link, and the largest message that is read from it. */
export function linkLimits({ settings }: BackendConfig) {
  return {
    timeoutMs: settings.timeoutSeconds * 1000,
    startMs: settings.startSeconds * 1000,
    maxMessageBytes: Math.max(settings.maxResultBytes, LEAST_MESSAGE_BYTES) + ENVELOPE_BYTES,
  }
}

/** Maximum wait for the end of an evicted call. */
const EVICTED_WITHIN_MS = 1000

export class BackendLimits {
  readonly #config: BackendConfig
  readonly #inFlight: Quota
  readonly #listening: Quota
  readonly #idle = new Waiters()
  readonly #left = new Waiters()

  /** Evicts a parked call to make room for a request of this caller; false if none may be evicted. */
  readonly evictParked: (caller: string) => boolean

  constructor(config: BackendConfig, evictParked: (caller: string) => boolean = () => false) {
    this.#config = config
    const { maxInFlight } = config.settings
    const limits = { all: { places: maxInFlight }, caller: { places: fairShareOf(maxInFlight) } }
    this.#inFlight = new Quota(limits)
    this.#listening = new Quota(limits)
    this.evictParked = evictParked
  }

  get inFlight(): number {
    return this.#inFlight.all.places
  }

  /** Counts a request of a caller; streams that stay open have a quota of their own. Returns the function that ends it. */
  enter(caller: string, isListening: boolean): () => void {
    const { name, settings } = this.#config
    const { maxInFlight } = settings
    const quota = isListening ? this.#listening : this.#inFlight
    const exceeded = quota.take(caller)
    if (exceeded !== undefined) {
      const ofCaller = tooManyOfCaller(fairShareOf(maxInFlight), maxInFlight)
      throw new BackendError('BACKEND_BUSY', name, exceeded === 'all' ? tooMany(maxInFlight) : ofCaller)
    }
    return () => {
      quota.release(caller)
      this.#left.wakeAll()
      if (this.inFlight === 0) this.#idle.wakeAll()
    }
  }

  /** Counts a request that is no stream. At the limit it evicts a parked call. */
  async entered(caller: string): Promise<() => void> {
    const isFull = this.inFlight >= this.#config.settings.maxInFlight
    if (isFull && this.evictParked(caller)) await this.#left.wait(EVICTED_WITHIN_MS)
    return this.enter(caller, false)
  }

  /** Resolves when no request is in flight, or after this time. */
  async idle(withinMs: number): Promise<void> {
    if (this.inFlight > 0) await this.#idle.wait(withinMs)
  }

  /** Checks a result: its size, and the members that the gateway reads. */
  assertTaken(result: Json): void {
    const { name, settings } = this.#config
    const { inputRequests, resultType, taskId } = result
    const asked = inputRequests ?? {}
    const isSound = areQuestions(asked) && (resultType !== 'task' || typeof taskId === 'string')
    if (!isSound) throw new BackendError('BACKEND_INVALID', name, WRONG_FORM)
    const questions = Object.keys(asked).length
    if (questions > MAX_QUESTIONS) throw new BackendError('BACKEND_INVALID', name, tooManyQuestions(questions))
    // The transport enforces a larger limit itself, before parsing.
    if (settings.maxResultBytes < LEAST_MESSAGE_BYTES && isLarger(result, settings.maxResultBytes))
      throw new BackendError('BACKEND_INVALID', name, tooLarge(settings.maxResultBytes))
  }
}

/** The longest JSON encoding of a character: `\u0000`. */
const CHAR_BYTES = 6
/** The longest JSON encoding of any other value, with its separator: `-1.7976931348623157e+308,`. */
const VALUE_BYTES = 32

/** Whether a result is too large. Serializes it only if the upper bound exceeds the limit. */
export function isLarger(result: Json, maxBytes: number): boolean {
  const { chars, values } = sizeOf(result)
  const upperBound = chars * CHAR_BYTES + values * VALUE_BYTES
  return upperBound > maxBytes && Buffer.byteLength(JSON.stringify(result)) > maxBytes
}
