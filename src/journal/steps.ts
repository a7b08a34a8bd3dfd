/**
 * Work that later rounds must not repeat.
 *
 * - `step` runs its function once and records the result in the journal; later rounds take it from there. When the
 *   response of a round is lost and the client sends that round again, the step runs again.
 * - `once` also claims an entry in a ledger before it runs. A round that is sent again finds the claim and does not run
 *   the function.
 */
import { DAY_SECONDS, sha256 } from '../protocol/index.ts'
import { JournalError } from './errors.ts'
import { assertKey, type Journal, reused } from './journal.ts'
import type { RoundLifecycle } from './roundLifecycle.ts'
import { type Stored, storable } from './storable.ts'

/** The methods of a ledger that a run needs. */
export interface SingleUse {
  claim(
    id: string,
    ttlSeconds: number,
    caller?: string,
  ): Promise<{ state: 'fresh' | 'running' } | { state: 'done'; value: unknown }>
  settle(id: string, value: unknown): Promise<void>
  release(id: string): Promise<void>
}

/** Claims that calls with the same id share, for the same caller and tool. */
export interface SharedClaims {
  readonly ledger: SingleUse
  /** Names the caller and the tool. */
  readonly scope: () => unknown
  /** The caller that makes the claims, for ledgers that limit them by caller. */
  readonly caller: () => string | undefined
}

/** Observes what a handler does, for tests and tracing. It must not change the handler's results. */
export interface Watch {
  /** Called for a step that runs and is not replayed. It calls `work` and returns its result. */
  step<T>(kind: 'step' | 'once', key: string, work: () => T | Promise<T>): T | Promise<T>
  /** Called for a step whose result is taken from the journal. */
  replayed?(key: string): void
  /** Called when the round has ended. After that the handler only unwinds. */
  ended(): void
  /** Called when the handler returned before these had ended: `the question "sure"`. */
  unawaited?(what: readonly string[]): void
  /** Called when the answer to this question did not fit. */
  refused?(key: string): void
}

export interface StepOptions {
  /** The ledger name of a `once` with an `id`. */
  readonly shared: SharedClaims
  /** How long the ledger keeps a claim of `once`, in seconds: longer than a call can live. @default 172800 */
  readonly claimSeconds?: number | undefined
  readonly watch?: Watch | undefined
  /** Whether the run is over already, because it was cancelled or another process has it. @default it is not */
  readonly isStopped?: (() => boolean) | undefined
  /** Writes a result to durable storage before the handler continues. @default the result is in the journal alone */
  readonly commit?: ((key: string, result: { readonly value?: unknown }) => Promise<void>) | undefined
}

export interface OnceOptions {
  /**
   * The subject of the caller's request, such as an order number. All calls of this tool by this caller with the same
   * id share one claim, so that a first request that is sent again does not run `fn` again. Callers without a principal
   * share their ids. @default every call has its own claim
   */
  id?: string
  /**
   * Run again when an earlier attempt began and did not report its end. Safe only if `fn` uses its idempotency key.
   * @default false
   */
  retryUnsettled?: boolean
  /** How long the ledger keeps the claim, in seconds: longer than a call can live. @default twice `maxCallSeconds` */
  ttlSeconds?: number
}

// Twice the default of `maxCallSeconds`.
const DEFAULT_CLAIM_SECONDS = 2 * DAY_SECONDS

export class Steps {
  readonly #journal: Journal
  readonly #lifecycle: RoundLifecycle
  readonly #ledger: SingleUse
  readonly #options: StepOptions
  readonly #inRun = new Set<string>()

  /** How many results this run added to the journal. */
  gained = 0
  /** How many results this run took from the journal. */
  #replayed = 0
  /** Whether this run has reached a step that is not in the journal. */
  #isAhead = false

  constructor(journal: Journal, lifecycle: RoundLifecycle, ledger: SingleUse, options: StepOptions) {
    this.#journal = journal
    this.#lifecycle = lifecycle
    this.#ledger = ledger
    this.#options = options
  }

  /** Whether every step of this run so far came from the journal, and the journal has more. */
  get isReplaying(): boolean {
    return !this.#isAhead && this.#replayed < this.#journal.steps.size
  }

  async step<T>(key: string, fn: () => T | Promise<T>): Promise<Stored<T>> {
    assertFunction(fn, 'step')
    this.#enter(key)
    const done = this.#find(key)
    if (done !== undefined) return done.value as Stored<T>
    return this.#lifecycle.holdOpen(async () =>
      this.#record(key, storable<T>(key, await this.#watched('step', key, fn))),
    )
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
    return this.#lifecycle.holdOpen(async () => this.#record(key, await this.#claimed(key, fn, options)))
  }

  async #claimed<T>(
    key: string,
    fn: (idempotencyKey: string) => T | Promise<T>,
    options: OnceOptions,
  ): Promise<Stored<T>> {
    const { ledger, id } = this.#placeOf(key, options.id)
    // A hash, because this key goes to other services and their logs, and the id of the call must stay secret.
    const idempotencyKey = sha256(id, 'hex').slice(0, 32)
    const { claimSeconds = DEFAULT_CLAIM_SECONDS, shared, isStopped } = this.#options
    const claim = await ledger.claim(id, options.ttlSeconds ?? claimSeconds, shared.caller())
    if (claim.state === 'done') return claim.value as Stored<T>
    if (claim.state === 'running' && options.retryUnsettled !== true) throw unsettled(key)
    if (isStopped?.()) {
      if (claim.state === 'fresh') await withdraw(ledger, id)
      throw stopped(key)
    }
    let done: T
    try {
      done = await this.#watched('once', key, () => fn(idempotencyKey))
    } catch (error) {
      await withdraw(ledger, id)
      throw error
    }
    // The effect has happened now, so the claim is not released whatever fails after this.
    const value = storable(key, done)
    await ledger.settle(id, value)
    return value
  }

  /** Where, and under which name, a `once` claims. */
  #placeOf(key: string, shared: string | undefined): { ledger: SingleUse; id: string } {
    if (shared === undefined) return { ledger: this.#ledger, id: `${this.#journal.id}/${key}` }
    assertKey(shared)
    const { ledger, scope } = this.#options.shared
    return { ledger, id: `once/${sha256(JSON.stringify([scope(), key, shared]), 'hex')}` }
  }

  #watched<T>(kind: 'step' | 'once', key: string, work: () => T | Promise<T>): T | Promise<T> {
    const { watch } = this.#options
    return this.#lifecycle.insideStep(key, () => (watch === undefined ? work() : watch.step(kind, key, work)))
  }

  #record<T>(key: string, value: T): T | Promise<T> {
    const result = value === undefined ? {} : { value }
    const { commit } = this.#options
    if (commit === undefined) return this.#keep(key, result, value)
    return commit(key, result).then(() => this.#keep(key, result, value))
  }

  #keep<T>(key: string, result: { readonly value?: unknown }, value: T): T {
    this.#journal.steps.set(key, result)
    this.gained++
    return value
  }

  #find(key: string): { readonly value?: unknown } | undefined {
    const done = this.#journal.steps.get(key)
    if (done === undefined) this.#isAhead = true
    else {
      this.#replayed++
      this.#options.watch?.replayed?.(key)
    }
    if (done === undefined && this.#options.isStopped?.()) throw stopped(key)
    return done
  }

  #enter(key: string): void {
    this.#lifecycle.assertOpen(`The step "${key}"`)
    assertKey(key)
    if (this.#inRun.has(key)) throw reused('is used by two steps', key)
    this.#inRun.add(key)
  }
}

/** The caller throws why. If the ledger cannot be reached, the claim stays, and a repeated round is refused. */
async function withdraw(ledger: SingleUse, id: string): Promise<void> {
  await ledger.release(id).catch(() => {})
}

function assertFunction(fn: unknown, name: string): void {
  if (typeof fn !== 'function') throw new TypeError(`ctx.${name}(key, fn): fn must be a function.`)
}

function stopped(key: string): JournalError {
  return new JournalError(
    'SCOPE_CLOSED',
    `The step "${key}" was not begun: its call was cancelled, or another process continues it.`,
  )
}

function unsettled(key: string): JournalError {
  return new JournalError(
    'ONCE_UNSETTLED',
    `An earlier attempt began "${key}" and did not report its end, so it may or may not have taken effect. ` +
      'Check that before you call again, or pass retryUnsettled if its idempotency key makes a second run harmless.',
  )
}
