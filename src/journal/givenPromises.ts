/**
 * The promises that a handler got from its context. A handler that returns before each of these promises is settled has
 * forgotten an `await`: it did not use the answer, or did not wait for its step.
 *
 * - A promise is waited for when somebody called its `then`, as `await` does, and it has settled.
 * - `then(f)` without a second function passes a rejection on, so the promise it returns must be waited for as well,
 *   unless it was fulfilled.
 * - A derived promise, such as that of an async function without `await`, counts as forgotten when its rejection is
 *   unhandled.
 */
import { isRoundEnded } from './roundLifecycle.ts'

/** Reports promises that were not waited for. */
export interface GivenListener {
  /** A promise rejected, and the handler did not wait for it. */
  lost(what: string, error: unknown): void
}

export class GivenPromises {
  readonly #listener: GivenListener
  readonly #open = new Set<GivenPromise<unknown>>()
  readonly #unhandled = new Set<string>()
  #returned = false
  #hasRejected = false

  constructor(listener: GivenListener) {
    this.#listener = listener
  }

  /** The promise for the handler. `what` names it in errors: `the question "sure"`. */
  give<T>(what: string, promise: Promise<T>): Promise<T> {
    return this.#add(what, promise, false)
  }

  /** The promises that `then` of a given promise returned. */
  derive<T>(what: string, promise: Promise<T>): Promise<T> {
    return this.#add(what, promise, true)
  }

  /** The reason with which the handler's signal is aborted. Rejections with it follow from a given promise. */
  abortReason(): DOMException {
    const reason = new DOMException('The client cancelled the call, or disconnected.', 'AbortError')
    noteError(reason, { owner: this, what: 'something that its signal aborts' })
    return reason
  }

  /** Whether unawaited promises are known only after another turn of the event loop. */
  get isUndecided(): boolean {
    return this.#open.size > 0 || this.#hasRejected
  }

  /** The handler has returned. Returns the keys that it did not wait for. */
  returned(): string[] {
    this.#returned = true
    for (const { what, rejection } of this.#open) {
      if (rejection !== undefined) this.#listener.lost(what, rejection.error)
    }
    return [...new Set([...Array.from(this.#open, ({ what }) => what), ...this.#unhandled])]
  }

  /** The promise is now awaited. */
  awaited(given: GivenPromise<unknown>): void {
    given.isAwaited = true
    if (given.isSettled) this.#open.delete(given)
  }

  /** A derived promise rejected, and its rejection is unhandled. */
  unhandled(what: string, error: unknown): void {
    this.#listener.lost(what, error)
    this.#unhandled.add(what)
  }

  #add<T>(what: string, promise: Promise<T>, isDerived: boolean): Promise<T> {
    const given = new GivenPromise<T>((resolve, reject) => {
      promise.then(resolve, reject)
    })
    given.what = what
    given.owner = this
    this.#open.add(given)
    void nativeThen.call(
      given,
      () => {
        if (isDerived) given.isAwaited = true
        this.#settled(given)
      },
      (error: unknown) => this.#rejected(given, error),
    )
    return given
  }

  #settled(given: GivenPromise<unknown>): void {
    given.isSettled = true
    if (given.isAwaited) this.#open.delete(given)
  }

  #rejected(given: GivenPromise<unknown>, error: unknown): void {
    this.#hasRejected = true
    noteError(error, { owner: this, what: given.what })
    given.rejection = { error }
    if (this.#returned && !given.isAwaited) this.#listener.lost(given.what, error)
    this.#settled(given)
  }
}

const nativeThen = Promise.prototype.then

/** `await` calls `then` only on promises of another class than Promise. */
class GivenPromise<T> extends Promise<T> {
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  what = ''
  owner: GivenPromises | undefined
  isAwaited = false
  isSettled = false
  rejection: { readonly error: unknown } | undefined

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.owner?.awaited(this)
    const next = super.then(onFulfilled, onRejected)
    return typeof onRejected === 'function' ? next : this.#derived(next)
  }

  override finally(onFinally?: (() => void) | null): Promise<T> {
    return this.#derived(super.finally(onFinally))
  }

  #derived<N>(next: Promise<N>): Promise<N> {
    return this.owner?.derive(this.what, next) ?? next
  }
}

interface Source {
  readonly owner: GivenPromises
  readonly what: string
}

/** Errors that a handler got from a promise of its context, and where from. */
const givenErrors = new WeakMap<object, Source>()
/** The same for errors that are no objects, in this turn of the event loop: unhandled rejections are reported at its end. */
const givenValues = new Map<unknown, Source>()

function noteError(error: unknown, source: Source): void {
  if (isRoundEnded(error)) return // it is the same for all rounds
  if (typeof error === 'object' && error !== null) {
    givenErrors.set(error, source)
    return
  }
  if (givenValues.size === 0) setTimeout(() => givenValues.clear(), 0)
  givenValues.set(error, source)
}

/**
 * Whether an unhandled rejection comes from a promise that a context gave. Its call fails, if it has not returned yet, and
 * the rejection is logged, so the process may continue.
 */
export function isGivenRejection(reason: unknown, promise: unknown): boolean {
  const sources = givenErrorsIn(reason)
  for (const { owner, what } of sources.given) owner.unhandled(what, reason)
  return promise instanceof GivenPromise || sources.given.length > 0 || sources.hasRoundEnded
}

const MAX_CAUSES = 8

/** Looks into causes, and into the errors of an AggregateError. */
function givenErrorsIn(reason: unknown, depth = 0): { given: Source[]; hasRoundEnded: boolean } {
  if (isRoundEnded(reason)) return { given: [], hasRoundEnded: true }
  const own = typeof reason === 'object' && reason !== null ? givenErrors.get(reason) : givenValues.get(reason)
  if (own !== undefined) return { given: [own], hasRoundEnded: false }
  if (!(reason instanceof Error) || depth > MAX_CAUSES) return { given: [], hasRoundEnded: false }
  const inner: readonly unknown[] = reason instanceof AggregateError ? reason.errors : [reason.cause]
  const found = inner.map((error) => givenErrorsIn(error, depth + 1))
  return { given: found.flatMap(({ given }) => given), hasRoundEnded: found.some(({ hasRoundEnded }) => hasRoundEnded) }
}
