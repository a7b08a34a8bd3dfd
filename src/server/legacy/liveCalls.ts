/** The running calls of sessions, by id, for cancellation. */
import type { RequestId } from '../../protocol/index.ts'
import { digestOf } from '../../state/internal.ts'
import { ExpiringMap } from '../../state/stores/index.ts'

interface Cancellable {
  cancel(): void
}

/** How much earlier than its call a cancellation may arrive, while another instance hands the call off. */
const EARLY_FOR_MS = 30_000

export class LiveCalls {
  readonly #bySession = new Map<string, Map<unknown, Cancellable>>()
  readonly #onIdle: (() => void)[] = []
  readonly #clock: () => number
  /** Cancellations of calls that do not run here, at least not yet. */
  readonly #early: ExpiringMap<true>

  constructor(clock: () => number) {
    this.#clock = clock
    this.#early = new ExpiringMap(clock)
  }

  /**
   * Registers a call until the returned function is called. A call outside a session has no identity, so it cannot be
   * cancelled.
   */
  enter(session: string | undefined, id: RequestId, call: Cancellable): () => void {
    if (session === undefined) return () => {}
    const calls = this.#bySession.get(session) ?? new Map<unknown, Cancellable>()
    this.#bySession.set(session, calls.set(id, call))
    return () => {
      if (calls.get(id) === call) calls.delete(id)
      if (calls.size === 0 && this.#bySession.get(session) === calls) this.#bySession.delete(session)
      if (this.#bySession.size === 0) for (const resolve of this.#onIdle.splice(0)) resolve()
    }
  }

  /** Resolves when no call is running. */
  idle(): Promise<void> {
    if (this.#bySession.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#onIdle.push(resolve))
  }

  /** Returns false if the call does not run here. */
  cancel(session: string, id: RequestId): boolean {
    const call = this.#bySession.get(session)?.get(id)
    call?.cancel()
    return call !== undefined
  }

  /** Cancels a call that runs here or is about to be resumed here. */
  cancelSoon(session: string, id: RequestId): void {
    if (!this.cancel(session, id)) this.#early.set(digestOf([session, id]), true, this.#clock() + EARLY_FOR_MS)
  }

  /** Whether a call was cancelled before it was resumed here. */
  wasCancelled(session: string | undefined, id: RequestId): boolean {
    return session !== undefined && this.#early.get(digestOf([session, id])) === true
  }

  cancelAll(session: string): void {
    for (const call of this.#bySession.get(session)?.values() ?? []) call.cancel()
  }
}
