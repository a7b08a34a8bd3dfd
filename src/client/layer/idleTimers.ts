import type { RequestId } from '../../protocol/index.ts'

/** One that waits to be heard of. */
export interface Idling {
  /** When it was last heard of. */
  activeAt: number
}

/**
 * Those that wait, by key. Each that nothing was heard of for so long is told of; whoever is told ends it, or has it
 * begin again. One timer for all: most are answered long before.
 */
export class IdleTimers<One extends Idling> {
  readonly #patienceMs: number
  readonly #onSilent: (one: One) => void
  readonly #waiting = new Map<RequestId, One>()
  #timer: NodeJS.Timeout | undefined

  constructor(patienceMs: number, onSilent: (one: One) => void) {
    this.#patienceMs = patienceMs
    this.#onSilent = onSilent
  }

  get all(): Iterable<One> {
    return this.#waiting.values()
  }

  /** It is heard of now, as it begins. */
  begin(key: RequestId, one: One): void {
    this.#waiting.set(key, one)
    if (this.#timer === undefined) this.#wakeIn(this.#patienceMs)
    else if (this.#waiting.size === 1) this.#timer.ref()
  }

  /** Whether it was waiting. */
  end(key: RequestId): boolean {
    const wasWaiting = this.#waiting.delete(key)
    // The next one finds the timer running. Until then it keeps no process alive.
    if (this.#waiting.size === 0) this.#timer?.unref()
    return wasWaiting
  }

  endAll(): void {
    this.#waiting.clear()
    this.#timer?.unref()
  }

  #wakeIn(ms: number): void {
    this.#timer = setTimeout(() => this.#look(), ms)
  }

  #look(): void {
    try {
      for (const one of this.#waiting.values()) if (this.#leftMs(one) <= 0) this.#onSilent(one)
    } finally {
      this.#timer = undefined
      if (this.#waiting.size > 0) this.#wakeIn(this.#nextMs())
    }
  }

  #nextMs(): number {
    let nextMs = this.#patienceMs
    for (const one of this.#waiting.values()) nextMs = Math.min(nextMs, this.#leftMs(one))
    return Math.ceil(nextMs)
  }

  #leftMs({ activeAt }: One): number {
    return activeAt + this.#patienceMs - performance.now()
  }
}
