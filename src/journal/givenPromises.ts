/**
 * The promises that a handler got from its context. A handler that returns before it has waited for each of them has
 * forgotten an `await`: it went on without the answer, or before its step had ended.
 *
 * - A promise is waited for when somebody called its `then`, as `await` does, and it has settled.
 * - `then(f)` without a second function passes a rejection on, so the promise it returns must be waited for as well.
 */

/** Told of what happens to promises that nobody waits for. */
export interface GivenListener {
  /** A promise rejected, and the handler has returned without having waited for it. */
  lost(what: string, error: unknown): void
}

export class GivenPromises {
  readonly #listener: GivenListener
  readonly #open = new Set<GivenPromise<unknown>>()
  #returned = false

  constructor(listener: GivenListener) {
    this.#listener = listener
  }

  /** The promise for the handler. `what` names it in errors: `the question "sure"`. */
  give<T>(what: string, promise: Promise<T>): Promise<T> {
    const given = new GivenPromise<T>((resolve, reject) => {
      promise.then(resolve, reject)
    })
    given.what = what
    given.owner = this
    this.#open.add(given)
    void nativeThen.call(
      given,
      () => this.#settled(given),
      (error: unknown) => this.#rejected(given, error),
    )
    return given
  }

  /** The handler has returned. Gives what it did not wait for. */
  returned(): string[] {
    this.#returned = true
    for (const { what, rejection } of this.#open)
      if (rejection !== undefined) this.#listener.lost(what, rejection.error)
    return [...new Set(Array.from(this.#open, ({ what }) => what))]
  }

  /** Somebody waits for the promise now. */
  awaited(given: GivenPromise<unknown>): void {
    given.isAwaited = true
    if (given.isSettled) this.#open.delete(given)
  }

  #settled(given: GivenPromise<unknown>): void {
    given.isSettled = true
    if (given.isAwaited) this.#open.delete(given)
  }

  #rejected(given: GivenPromise<unknown>, error: unknown): void {
    if (typeof error === 'object' && error !== null) givenErrors.add(error)
    given.rejection = { error }
    if (this.#returned && !given.isAwaited) this.#listener.lost(given.what, error)
    this.#settled(given)
  }
}

const nativeThen = Promise.prototype.then

/** Errors that a handler got from a promise of its context. */
const givenErrors = new WeakSet<object>()

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
    return typeof onRejected === 'function' ? next : this.#given(next)
  }

  override finally(onFinally?: (() => void) | null): Promise<T> {
    return this.#given(super.finally(onFinally))
  }

  #given<N>(next: Promise<N>): Promise<N> {
    return this.owner?.give(this.what, next) ?? next
  }
}

/**
 * Whether a rejection that nobody handles is one that a run has reported: its call has failed because of it, or failed
 * because its handler did not wait.
 */
export function isGivenRejection(reason: unknown, promise: unknown): boolean {
  return promise instanceof GivenPromise || (typeof reason === 'object' && reason !== null && givenErrors.has(reason))
}
