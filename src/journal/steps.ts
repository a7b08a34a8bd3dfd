/**
 * Work that must not be repeated by the next round.
 *
 * - `step` runs once and is replayed from the journal. It prevents a second run after a round has returned; when the
 *   response of a round is lost and the client sends that round again, the step runs again.
 * - `once` also claims an entry in a ledger, which a repeated round finds taken.
 */
import { hash } from 'node:crypto'
import { JournalError } from './errors.ts'
import { assertKey, type Journal, reused } from './journal.ts'
import type { RoundLifecycle } from './roundLifecycle.ts'
import { type Stored, storable } from './storable.ts'

/** The part of a ledger that a run needs. */
export interface SingleUse {
  claim(id: string, ttlSeconds: number): Promise<{ state: 'fresh' | 'running' } | { state: 'done'; value: unknown }>
  settle(id: string, value: unknown): Promise<void>
  release(id: string): Promise<void>
}

/** Sees what a handler does as it happens: for tests and tracing. It changes nothing. */
export interface Watch {
  /** Around a step that really runs and is not replayed; gives what `work` gives. */
  step<T>(kind: 'step' | 'once', key: string, work: () => T | Promise<T>): T | Promise<T>
  /** The round is over: from here on the handler only unwinds. */
  ended(): void
}

export interface StepOptions {
  /** How long a claim of `once` is remembered, in seconds: longer than a call can live. @default 172800 */
  readonly claimSeconds?: number | undefined
  readonly watch?: Watch | undefined
  /** Puts a result where it survives this process, before anything can depend on it. @default it lives in the journal alone */
  readonly commit?: ((key: string, result: { readonly value?: unknown }) => Promise<void>) | undefined
}

export interface OnceOptions {
  /** Run again when an earlier attempt began and never reported its end. Only right when `fn` honours its idempotency key. @default false */
  retryUnsettled?: boolean
  /** How long the claim is remembered, in seconds: longer than a call can live. @default twice `maxCallSeconds` */
  ttlSeconds?: number
}

// Twice as long as a call lives by default.
const DEFAULT_CLAIM_SECONDS = 2 * 86_400

export class Steps {
  readonly #journal: Journal
  readonly #round: RoundLifecycle
  readonly #ledger: SingleUse
  readonly #watch: Watch | undefined
  readonly #commit: StepOptions['commit']
  readonly #claimSeconds: number
  readonly #inRun = new Set<string>()

  /** How many results this run added to the journal. */
  gained = 0
  /** How many it found there, and whether it has come to work that is not there. */
  #found = 0
  #isAhead = false

  constructor(journal: Journal, round: RoundLifecycle, ledger: SingleUse, options: StepOptions) {
    this.#journal = journal
    this.#round = round
    this.#ledger = ledger
    this.#watch = options.watch
    this.#commit = options.commit
    this.#claimSeconds = options.claimSeconds ?? DEFAULT_CLAIM_SECONDS
  }

  /** Whether all this run has done was done before, and more of that is to come. */
  get isReplaying(): boolean {
    return !this.#isAhead && this.#found < this.#journal.steps.size
  }

  async step<T>(key: string, fn: () => T | Promise<T>): Promise<Stored<T>> {
    assertFunction(fn, 'step')
    this.#enter(key)
    const done = this.#find(key)
    if (done !== undefined) return done.value as Stored<T>
    return this.#round.doing(async () => this.#record(key, storable<T>(key, await this.#watched('step', key, fn))))
  }

  async once<T>(
    key: string,
    fn: (idempotencyKey: string) => T | Promise<T>,
    options: OnceOptions = {},
  ): Promise<Stored<T>> {
    assertFunction(fn, 'once')
    this.#enter(key)
    const done = this.#find(key)
    if (done !== undefined) return done.value as Stored<T>
    return this.#round.doing(async () => this.#record(key, await this.#claimed(key, fn, options)))
  }

  async #claimed<T>(
    key: string,
    fn: (idempotencyKey: string) => T | Promise<T>,
    options: OnceOptions,
  ): Promise<Stored<T>> {
    const id = `${this.#journal.id}/${key}`
    // It goes to other services and their logs, so it must not tell the name of the call.
    const idempotencyKey = hash('sha256', id, 'hex').slice(0, 32)
    const claim = await this.#ledger.claim(id, options.ttlSeconds ?? this.#claimSeconds)
    if (claim.state === 'done') return claim.value as Stored<T>
    if (claim.state === 'running' && options.retryUnsettled !== true) throw unsettled(key)
    let done: T
    try {
      done = await this.#watched('once', key, () => fn(idempotencyKey))
    } catch (error) {
      await this.#ledger.release(id)
      throw error
    }
    // From here on the effect has happened: whatever goes wrong now, the claim stays.
    const value = storable(key, done)
    await this.#ledger.settle(id, value)
    return value
  }

  #watched<T>(kind: 'step' | 'once', key: string, work: () => T | Promise<T>): T | Promise<T> {
    const watch = this.#watch
    return this.#round.inside(key, () => (watch === undefined ? work() : watch.step(kind, key, work)))
  }

  #record<T>(key: string, value: T): T | Promise<T> {
    const result = value === undefined ? {} : { value }
    return this.#commit === undefined
      ? this.#keep(key, result, value)
      : this.#commit(key, result).then(() => this.#keep(key, result, value))
  }

  #keep<T>(key: string, result: { readonly value?: unknown }, value: T): T {
    this.#journal.steps.set(key, result)
    this.gained++
    return value
  }

  #find(key: string): { readonly value?: unknown } | undefined {
    const done = this.#journal.steps.get(key)
    if (done === undefined) this.#isAhead = true
    else this.#found++
    return done
  }

  #enter(key: string): void {
    this.#round.assertOpen(`The step "${key}"`)
    assertKey(key)
    if (this.#inRun.has(key)) throw reused('is used by two steps', key)
    this.#inRun.add(key)
  }
}

function assertFunction(fn: unknown, name: string): void {
  if (typeof fn !== 'function') throw new TypeError(`ctx.${name}(key, fn): fn must be a function that does the work.`)
}

function unsettled(key: string): JournalError {
  return new JournalError(
    'ONCE_UNSETTLED',
    `An earlier attempt began "${key}" and did not report its end, so it may or may not have taken effect. ` +
      'Look there before you call again, or pass retryUnsettled when its idempotency key makes a repeat harmless.',
  )
}
