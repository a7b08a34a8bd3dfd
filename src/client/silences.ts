import type { RequestId } from '../protocol/index.ts'

/** Tells of each that nothing was heard of for so long. One timer for all: most are answered long before. */
export class Silences {
  readonly #patienceMs: number
  readonly #onSilent: (key: RequestId) => void
  /** When each was last heard of, the longest ago first. */
  readonly #heardAt = new Map<RequestId, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(patienceMs: number, onSilent: (key: RequestId) => void) {
    this.#patienceMs = patienceMs
    this.#onSilent = onSilent
  }

  /** It begins, or was heard of. */
  heard(key: RequestId): void {
    this.#heardAt.delete(key)
    this.#heardAt.set(key, performance.now())
    if (this.#timer === undefined) this.#wakeIn(this.#patienceMs)
    else if (this.#heardAt.size === 1) this.#timer.ref()
  }

  end(key: RequestId): void {
    this.#heardAt.delete(key)
    // The next one finds the timer running. Until then it keeps no process alive.
    if (this.#heardAt.size === 0) this.#timer?.unref()
  }

  #wakeIn(ms: number): void {
    this.#timer = setTimeout(() => this.#look(), ms)
  }

  #look(): void {
    this.#timer = undefined
    for (const [key, heardAt] of this.#heardAt) {
      const leftMs = heardAt + this.#patienceMs - performance.now()
      if (leftMs > 0) return this.#timer === undefined ? this.#wakeIn(Math.ceil(leftMs)) : undefined
      this.#heardAt.delete(key)
      this.#onSilent(key)
    }
  }
}
