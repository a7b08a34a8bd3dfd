/**
 * One round of a call: the handler runs from the top over its journal. An answered ask and a finished step return at
 * once; the first unanswered ask ends the round. The outcome is decided here and not by what the handler does with the
 * rejection that unwinds it.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { type AskOptions, Asks, type Question } from './asks.ts'
import type { Journal } from './journal.ts'
import { ignoreRejection, RoundLifecycle, type RoundListener } from './roundLifecycle.ts'
import type { Stored } from './storable.ts'
import { type OnceOptions, type SingleUse, type StepOptions, Steps } from './steps.ts'

export interface RunOptions extends AskOptions, StepOptions {
  readonly journal: Journal
  readonly ledger: SingleUse
  /** Whether the process would rather hand this call to another one. */
  readonly shedding: () => 'no' | 'busy' | 'draining'
  /** Runs a function after everything that is ready to run has run. */
  readonly later: (fn: () => void) => void
  /** How long a handler may take to unwind after its round has ended, in milliseconds. */
  readonly unwindMs: number
  /** Told when a handler did not unwind in time. */
  readonly onStuck: () => void
  /** Told when a handler returned a result while it still asked. */
  readonly onUnawaited: (keys: readonly string[]) => void
  /** Whether this call can go on as a task; if not, or if it is one already, `detach` does nothing. @default false */
  readonly detachable?: boolean
}

/** How a round ended. */
export type Outcome<T> =
  | { readonly kind: 'complete'; readonly value: T }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** The round is over; `requests` is empty when another instance should simply go on. */
  | { readonly kind: 'asked'; readonly requests: ReadonlyMap<string, InputRequest> }
  /** The round is over, and the rest of the call is a task's. */
  | { readonly kind: 'detached' }

// Plain data and not closures over a request: V8 keeps those through several collections, and the heap grows fivefold.
interface Playing {
  readonly settled: Promise<unknown>
  readonly resolve: (outcome: Outcome<never>) => void
}

export class Run implements RoundListener {
  readonly #options: RunOptions
  readonly #round: RoundLifecycle
  #playing: Playing | undefined
  #asksMade: Asks | undefined
  #stepsMade: Steps | undefined
  #detached = false

  constructor(options: RunOptions) {
    this.#options = options
    this.#round = new RoundLifecycle(options.later, this)
  }

  // Made when first used: a handler that neither asks nor steps pays for neither.
  get #asks(): Asks {
    this.#asksMade ??= new Asks(this.#options.journal, this.#round, this.#options)
    return this.#asksMade
  }

  get #steps(): Steps {
    this.#stepsMade ??= new Steps(this.#options.journal, this.#round, this.#options.ledger, this.#options)
    return this.#stepsMade
  }

  ask<T>(key: string, question: Question<T>): Promise<T> {
    return this.#asks.ask(key, question)
  }

  step<T>(key: string, fn: () => T | Promise<T>): Promise<Stored<T>> {
    return ignoreRejection(this.#steps.step(key, fn))
  }

  once<T>(key: string, fn: (idempotencyKey: string) => T | Promise<T>, options?: OnceOptions): Promise<Stored<T>> {
    return ignoreRejection(this.#steps.once(key, fn, options))
  }

  /** Ends the round when this process wants to be rid of it and there is something to hand over. */
  async checkpoint(): Promise<void> {
    this.#round.assertOpen('A checkpoint')
    this.#round.assertOutsideSteps('A checkpoint')
    const shedding = this.#options.shedding()
    if (shedding === 'no' || this.#options.push !== undefined) return
    // A busy process moves each call it takes by at least one step, or two busy ones would play ping-pong.
    if (shedding === 'busy' && this.#steps.gained + this.#asks.gained === 0) return
    await ignoreRejection(this.#round.wait())
  }

  /** Ends the round so that a task goes on from here. */
  async detach(): Promise<void> {
    this.#round.assertOpen('Detaching')
    this.#round.assertOutsideSteps('Detaching')
    if (this.#options.detachable !== true) return
    this.#detached = true
    await ignoreRejection(this.#round.wait())
  }

  /** Whether the handler is still on its way to where an earlier run has been. */
  get isReplaying(): boolean {
    return this.#steps.isReplaying
  }

  /** Throws when the request this run belongs to is over. */
  assertOpen(what: string): void {
    this.#round.assertOpen(what)
  }

  /** Runs the handler for one round. Never rejects. */
  play<T>(handler: () => T | Promise<T>): Promise<Outcome<T>> {
    return new Promise((resolve) => {
      const settled = start(handler)
      this.#playing = { settled, resolve }
      // One reaction and no promise of our own in between: most calls pass here without ever asking.
      settled.then(
        (value) => this.#decide({ kind: 'complete', value }),
        (error: unknown) => this.#decide({ kind: 'failed', error }),
      )
    })
  }

  #decide(outcome: Outcome<unknown>): void {
    if (this.#round.ended) return
    if (outcome.kind === 'complete') this.#reportUnawaited()
    this.#round.close()
    this.#playing?.resolve(outcome as Outcome<never>)
  }

  /** A handler that returns while it asks has forgotten an `await`; its question was never put to anybody. */
  #reportUnawaited(): void {
    if (this.#asksMade === undefined || this.#asksMade.waiting.size === 0) return
    this.#options.onUnawaited([...this.#asksMade.waiting.keys()])
  }

  roundEnded(): void {
    this.#asks.forgetUnasked()
    this.#options.watch?.ended()
    if (this.#playing !== undefined) void this.#endRound(this.#playing)
  }

  async #endRound({ settled, resolve }: Playing): Promise<void> {
    const requests = this.#asks.waiting
    await unwound(settled, this.#options)
    this.#round.close()
    resolve(this.#detached ? { kind: 'detached' } : { kind: 'asked', requests })
  }
}

/** The handler's promise, also when it throws at once or gives a plain value. */
function start<T>(handler: () => T | Promise<T>): Promise<T> {
  let value: T | Promise<T>
  try {
    value = handler()
  } catch (error) {
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what a handler throws is passed on as it is
    return Promise.reject(error)
  }
  return value instanceof Promise ? value : Promise.resolve(value)
}

/** Lets `finally` blocks finish before the answer goes out, so that the next round finds their resources released. */
async function unwound(settled: Promise<unknown>, { unwindMs, onStuck }: RunOptions): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      onStuck()
      resolve()
    }, unwindMs)
  })
  await Promise.race([settled.catch(() => {}), late])
  clearTimeout(timer)
}
