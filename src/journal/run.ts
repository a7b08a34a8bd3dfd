/**
 * One run of a handler over its journal: one round of a call, or one run of a task. The handler runs from its start. An
 * answered ask and a recorded step return at once; an unanswered ask ends the round. The outcome is decided here,
 * whatever the handler does with the rejection that unwinds it.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { type AskOptions, Asks } from './asks.ts'
import { JournalError } from './errors.ts'
import { type GivenListener, GivenPromises } from './givenPromises.ts'
import type { AnsweredBy, Journal } from './journal.ts'
import type { Question } from './question.ts'
import { ignoreRejection, isRoundEnded, RoundLifecycle, type RoundListener } from './roundLifecycle.ts'
import type { Stored } from './storable.ts'
import { type OnceOptions, type SingleUse, type StepOptions, Steps } from './steps.ts'

/** The default of `unwindMs`. */
export const UNWIND_MS = 5000

export interface RunOptions extends AskOptions, StepOptions {
  readonly journal: Journal
  readonly ledger: SingleUse
  /** Whether, and why, this process wants another instance to continue the call. */
  readonly shedding: () => 'no' | 'busy' | 'draining'
  /** Called when a checkpoint hands the call over, before anything else can reach one. */
  readonly onHandOff?: () => void
  /** How long a handler may take to unwind after its round has ended, in milliseconds. */
  readonly unwindMs: number
  /** Called when a handler did not unwind within `unwindMs`. */
  readonly onStuck: () => void
  /** Called when the context was used after the request had been answered, the first time. */
  readonly onLate: (what: string) => void
  /** Called with the error of something that the handler did not wait for. */
  readonly onLost: (what: string, error: unknown) => void
  /** Whether the handler can make a task of this call. If not, or if it is one already, `detach` does nothing. @default false */
  readonly detachable?: boolean
}

/** How a round ended. */
export type Outcome<T> =
  | { readonly kind: 'complete'; readonly value: T }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** The round has ended. `requests` is empty when another instance should continue without an answer. */
  | { readonly kind: 'asked'; readonly requests: ReadonlyMap<string, InputRequest> }
  /** The round has ended, and the call continues as a task or waits for somebody elsewhere. */
  | { readonly kind: 'detached' }

// Plain data and not closures over a request: V8 keeps such closures through several collections, and the heap grows
// to five times its size.
interface Execution {
  readonly settled: Promise<unknown>
  readonly resolve: (outcome: Outcome<never>) => void
}

/** Runs a function after everything that is ready to run has run, as setImmediate does. */
export type RunLater = (fn: () => void) => void

export class Run implements RoundListener, GivenListener {
  readonly #makeOptions: () => RunOptions
  readonly #later: RunLater
  readonly #lifecycle: RoundLifecycle
  #optionsMade: RunOptions | undefined
  #execution: Execution | undefined
  #asksMade: Asks | undefined
  #stepsMade: Steps | undefined
  #given: GivenPromises | undefined
  #detached = false
  #isLate = false

  /** `options` is called when they are first needed. */
  constructor(options: () => RunOptions, later: RunLater) {
    this.#makeOptions = options
    this.#later = later
    this.#lifecycle = new RoundLifecycle(later, this)
  }

  // Made when first used, because many handlers neither ask nor use steps.
  get #options(): RunOptions {
    this.#optionsMade ??= this.#makeOptions()
    return this.#optionsMade
  }

  get #asks(): Asks {
    this.#asksMade ??= new Asks(this.#options.journal, this.#lifecycle, this.#options, () => this.#waitElsewhere())
    return this.#asksMade
  }

  get #steps(): Steps {
    this.#stepsMade ??= new Steps(this.#options.journal, this.#lifecycle, this.#options.ledger, this.#options)
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

  /** Ends the round if this process wants to hand its calls over. */
  async checkpoint(): Promise<void> {
    this.#lifecycle.assertOpen('A checkpoint')
    this.#lifecycle.assertOutsideSteps('A checkpoint')
    const shedding = this.#options.shedding()
    if (shedding === 'no' || this.#options.push !== undefined) return
    // A busy process makes progress on a call before it hands it over. Otherwise two busy processes would pass it back
    // and forth forever.
    if (shedding === 'busy' && this.#steps.gained + this.#asks.gained === 0) return
    this.#options.onHandOff?.()
    await ignoreRejection(this.#lifecycle.wait())
  }

  /** Ends the round so that the call continues as a task. */
  async detach(): Promise<void> {
    this.#lifecycle.assertOpen('Detaching')
    this.#lifecycle.assertOutsideSteps('Detaching')
    if (this.#options.detachable === true) await this.#leave()
  }

  async #waitElsewhere(): Promise<void> {
    if (this.#options.detachable === true || this.#options.waitsFor !== undefined) await this.#leave()
  }

  async #leave(): Promise<void> {
    this.#detached = true
    await ignoreRejection(this.#lifecycle.wait())
  }

  /** Who answered a question: the recorded giver, else the caller. Undefined while there is no answer. */
  answererOf(key: string, caller: AnsweredBy | undefined): AnsweredBy | undefined {
    const answer = this.#options.journal.answers.get(key)
    return answer && (answer.by ?? caller)
  }

  /** Whether the handler has not yet done anything that an earlier run had not done. */
  get isReplaying(): boolean {
    return this.#steps.isReplaying
  }

  /** The promise as the handler gets it. The run fails when the handler returns without having waited for it. */
  give<T>(what: string, promise: Promise<T>): Promise<T> {
    this.isOpen(what)
    this.#given ??= new GivenPromises(this)
    return this.#given.give(what, promise)
  }

  /** The abort reason of the handler's signal. Unhandled rejections with this reason do not end the process. */
  abortReason(): DOMException {
    this.#given ??= new GivenPromises(this)
    return this.#given.abortReason()
  }

  /** Whether the client can still be sent something. A use after the answer is reported once. */
  isOpen(what: string): boolean {
    if (this.#lifecycle.closed && !this.#isLate) {
      this.#isLate = true
      this.#options.onLate(what)
    }
    return !this.#lifecycle.closed && !this.#lifecycle.ended
  }

  lost(what: string, error: unknown): void {
    if (!isRoundEnded(error) && !(error instanceof JournalError)) this.#options.onLost(what, error)
  }

  /** Runs the handler for one round. Never throws or rejects. Synchronous if the handler is. */
  execute<T>(handler: () => T | Promise<T>): Outcome<T> | Promise<Outcome<T>> {
    const value = start(handler)
    if (!isThenable(value) && this.#given === undefined) {
      this.#lifecycle.close()
      return { kind: 'complete', value }
    }
    return new Promise((resolve) => {
      const settled = value instanceof Promise ? value : Promise.resolve(value)
      this.#execution = { settled, resolve }
      // One `then` and no further promise, because most calls never ask and should cost no more.
      settled.then(
        (value) => this.#decide({ kind: 'complete', value }),
        (error: unknown) => this.#decide({ kind: 'failed', error }),
      )
    })
  }

  #decide(outcome: Outcome<unknown>): void {
    if (this.#lifecycle.ended) return
    this.#lifecycle.close()
    const given = this.#given
    // The effects of rejections are known at the end of this turn.
    if (outcome.kind === 'complete' && given?.isUndecided) this.#later(() => this.#finish(outcome, given))
    else this.#finish(outcome, given)
  }

  #finish(outcome: Outcome<unknown>, given: GivenPromises | undefined): void {
    const unawaited = given?.returned() ?? []
    const isForgotten = outcome.kind === 'complete' && unawaited.length > 0
    if (isForgotten) this.#options.watch?.unawaited?.(unawaited)
    this.#execution?.resolve(
      isForgotten ? { kind: 'failed', error: forgotten(unawaited) } : (outcome as Outcome<never>),
    )
  }

  roundEnded(): void {
    const error = this.#asks.endRound()
    this.#options.watch?.ended()
    if (this.#execution !== undefined) void this.#endRound(this.#execution, error)
  }

  async #endRound({ settled, resolve }: Execution, error: JournalError | undefined): Promise<void> {
    const requests = this.#asks.waiting
    await unwound(settled, this.#options)
    this.#lifecycle.close()
    if (this.#detached) resolve({ kind: 'detached' })
    else resolve(error === undefined ? { kind: 'asked', requests } : { kind: 'failed', error })
  }
}

function forgotten(unawaited: readonly string[]): JournalError {
  return new JournalError(
    'AWAIT_MISSING',
    `The handler did not wait for ${unawaited.join(' and ')} before it returned. Wait for everything it begins: put "await" ` +
      'before it, and use Promise.allSettled where one failure should not leave others behind.',
  )
}

/** Calls the handler. A throw becomes a rejection. */
function start<T>(handler: () => T | Promise<T>): T | Promise<T> {
  try {
    return handler()
  } catch (error) {
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what a handler throws is passed on as it is
    return Promise.reject(error)
  }
}

function isThenable<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value
}

/** Waits until the handler's `finally` blocks have run, so that the next round finds their resources released. */
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
