/** A request that waits for its response, its timeout, or its caller's cancellation. */
import { type Json, unref } from '../../protocol/index.ts'
import type { Relayed } from './relayed.ts'

export interface WaitingOptions {
  readonly relayed: Relayed
  /** Undefined if the caller sent no token. */
  readonly progressToken: unknown
  readonly timeoutMs: number
  readonly onLate: () => void
  /** Called once, before the response is delivered. */
  readonly onSettled: () => void
}

export class WaitingRequest {
  readonly relayed: Relayed
  readonly progressToken: unknown
  readonly response: Promise<Json>
  readonly #options: WaitingOptions
  readonly #resolve: (response: Json) => void
  readonly #reject: (error: unknown) => void
  #timer: ReturnType<typeof setTimeout> | undefined
  #pauses = 0
  #isSettled = false

  constructor(options: WaitingOptions) {
    const { promise, resolve, reject } = Promise.withResolvers<Json>()
    this.relayed = options.relayed
    this.progressToken = options.progressToken
    this.response = promise
    this.#options = options
    this.#resolve = resolve
    this.#reject = reject
    this.#startTimer()
  }

  get isSettled(): boolean {
    return this.#isSettled
  }

  /** Settles it with what the function returns or throws. Later calls are ignored. */
  settle(outcome: () => Json): void {
    if (this.#isSettled) return
    this.#isSettled = true
    clearTimeout(this.#timer)
    this.#options.onSettled()
    try {
      this.#resolve(outcome())
    } catch (error) {
      this.#reject(error)
    }
  }

  fail(error: Error): void {
    this.settle(() => {
      throw error
    })
  }

  /** Pauses the timeout while a caller is asked; returns the function that restarts it. */
  pause(): () => void {
    clearTimeout(this.#timer)
    this.#pauses++
    return () => {
      this.#pauses--
      if (this.#pauses === 0 && !this.#isSettled) this.#startTimer()
    }
  }

  #startTimer(): void {
    if (this.relayed.isEndless) return
    const { onLate, timeoutMs } = this.#options
    this.#timer = unref(setTimeout(onLate, timeoutMs))
  }
}
