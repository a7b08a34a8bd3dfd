/**
 * When a round ends, and what that does to those who wait in it.
 *
 * - `wait` starts the end: the round is over once everything that is ready to run has run and no step is under way, so
 *   asks started together go out together and nothing that was done goes unrecorded.
 * - At the end every waiter rejects, and so does every later call. The handler cannot change the outcome any more.
 * - `close` comes when the handler has returned: what still tries to use the run gets ScopeClosed.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { JournalError, ScopeClosed } from './errors.ts'

/** The step that the running code belongs to. */
const step = new AsyncLocalStorage<{ readonly round: RoundLifecycle; readonly key: string }>()

/** Told when the round ends before its handler does. An object and not a function: see Run. */
export interface RoundListener {
  roundEnded(): void
}

export class RoundLifecycle {
  readonly #later: (fn: () => void) => void
  readonly #waiters: ((error: Error) => void)[] = []
  #underWay = 0
  #ended = false
  #closed = false

  readonly #owner: RoundListener

  constructor(later: (fn: () => void) => void, owner: RoundListener) {
    this.#later = later
    this.#owner = owner
  }

  get ended(): boolean {
    return this.#ended
  }

  assertOpen(what: string): void {
    if (this.#closed) throw new ScopeClosed(what)
    if (this.#ended) throw roundEnded
  }

  /** Runs the function of a step; what it calls, however late, is known to be inside. */
  inside<T>(key: string, fn: () => T): T {
    return step.run({ round: this, key }, fn)
  }

  /** A step that waited for a round's end, while the round waits for the step's, would never return. */
  assertOutsideSteps(what: string): void {
    const current = step.getStore()
    if (current?.round !== this) return
    throw new JournalError(
      'ASK_IN_STEP',
      `${what} is inside the step "${current.key}". Ask before the step and give it the answer.`,
    )
  }

  /** Never resolves: the next round starts from the top, not here. */
  wait(): Promise<never> {
    return new Promise((_, reject) => {
      this.#waiters.push(reject)
      this.#endSoon()
    })
  }

  /** Work whose result must be recorded before the round may end. */
  async doing<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay++
    try {
      return await work()
    } finally {
      this.#underWay--
      if (this.#waiters.length > 0) this.#endSoon()
    }
  }

  close(): void {
    this.#closed = true
  }

  #endSoon(): void {
    this.#later(() => {
      if (this.#ended || this.#closed || this.#underWay > 0) return
      this.#ended = true
      for (const reject of this.#waiters) reject(roundEnded)
      this.#owner.roundEnded()
    })
  }
}

/** A rejection that nobody awaits must not end the process: a handler may start an ask and move on. */
export function ignoreRejection<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

/**
 * What a waiting `ask` rejects with when its round ends. It only unwinds the handler, so that `finally` blocks run;
 * the outcome is recorded elsewhere, and a handler that swallows this changes nothing.
 */
class RoundEnded extends Error {
  override readonly name = 'RoundEnded'
}

// One object for all rounds: it carries nothing, and a stack trace each would cost more than the round itself.
export const roundEnded: Error = Object.freeze(
  new RoundEnded('This round has ended; the handler runs again when the answers arrive. Let this error pass.'),
)

export function isRoundEnded(error: unknown): boolean {
  return error === roundEnded
}
