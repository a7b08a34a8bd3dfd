/**
 * The end of a round, and its effect on waiting promises.
 *
 * - A round is open, then ended or closed. `wait` requests the end. The round ends as soon as the event loop has run
 *   everything that was ready and no step is running. So asks that were started together are sent together, and no
 *   result of a step is lost.
 * - When the round ends, every promise of `wait` rejects with `roundEnded`, and so does every later ask or step. The
 *   handler cannot change the outcome any more.
 * - `close` is called when the handler has returned. Whatever uses the run after that gets ScopeClosed.
 */
import { createAsyncContext } from '../protocol/index.ts'
import { JournalError, ScopeClosed } from './errors.ts'

/** The step that the current asynchronous context runs in. */
const currentStep = createAsyncContext<{ readonly lifecycle: RoundLifecycle; readonly key: string }>()

/** Notified when the round ends before its handler returns. An object and not a closure: see `Playing` in run.ts. */
export interface RoundListener {
  roundEnded(): void
}

export class RoundLifecycle {
  readonly #later: (fn: () => void) => void
  readonly #listener: RoundListener
  readonly #waiters: ((error: Error) => void)[] = []
  #runningSteps = 0
  #ended = false
  #closed = false

  constructor(later: (fn: () => void) => void, listener: RoundListener) {
    this.#later = later
    this.#listener = listener
  }

  get ended(): boolean {
    return this.#ended
  }

  get closed(): boolean {
    return this.#closed
  }

  assertOpen(what: string): void {
    if (this.#closed) throw new ScopeClosed(what)
    if (this.#ended) throw roundEnded
  }

  /** Runs the function of a step so that everything it calls, also asynchronously, is known to be inside the step. */
  insideStep<T>(key: string, fn: () => T): T {
    return currentStep.run({ lifecycle: this, key }, fn)
  }

  /** An ask inside a step would be a deadlock: the step waits for the end of the round, and the round for the step. */
  assertOutsideSteps(what: string): void {
    const current = currentStep.getStore()
    if (current?.lifecycle !== this) return
    throw new JournalError(
      'ASK_IN_STEP',
      `${what} is inside the step "${current.key}". Ask before the step and pass the answer to it.`,
    )
  }

  /** Requests the end of the round. The promise never resolves: the next round runs the handler from its start. */
  wait(): Promise<never> {
    return new Promise((_, reject) => {
      this.#waiters.push(reject)
      this.#endWhenIdle()
    })
  }

  /** Runs work whose result must be recorded before the round may end. */
  async holdOpen<T>(work: () => Promise<T>): Promise<T> {
    this.#runningSteps++
    try {
      return await work()
    } finally {
      this.#runningSteps--
      if (this.#waiters.length > 0) this.#endWhenIdle()
    }
  }

  close(): void {
    this.#closed = true
  }

  #endWhenIdle(): void {
    this.#later(() => {
      if (this.#ended || this.#closed || this.#runningSteps > 0) return
      this.#ended = true
      for (const reject of this.#waiters) reject(roundEnded)
      this.#listener.roundEnded()
    })
  }
}

/**
 * The error of a waiting `ask` when its round ends. It unwinds the handler so that `finally` blocks run. The outcome of
 * the round is recorded elsewhere, so a handler that catches this error changes nothing.
 */
class RoundEnded extends Error {
  override readonly name = 'RoundEnded'
}

// One object for all rounds: it has no data, and making a stack trace would cost more than the round itself.
export const roundEnded: Error = Object.freeze(
  new RoundEnded('This round has ended; the handler runs again when the answers arrive. Do not catch this error.'),
)

export function isRoundEnded(error: unknown): boolean {
  return error === roundEnded
}

/** Prevents an unhandled rejection: a handler may start an ask and never await it. */
export function ignoreRejection<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}
