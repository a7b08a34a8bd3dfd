/**
 * Ends what takes too long. All have the same time, so that those who began first are late first: one timer for the oldest
 * is enough, where one for each would cost as much as looking at the headers.
 */
export interface LimitedRequest {
  /** Its time is over. */
  late(): void
}

export class Deadlines {
  readonly #timeoutMs: number
  /** When each is late, in the order of their beginning. */
  readonly #lateAt = new Map<LimitedRequest, number>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  add(request: LimitedRequest): void {
    this.#lateAt.set(request, performance.now() + this.#timeoutMs)
    this.#timer ??= setTimeout(this.#look, this.#timeoutMs)
  }

  remove(request: LimitedRequest): void {
    this.#lateAt.delete(request)
    if (this.#lateAt.size > 0 || this.#timer === undefined) return
    this.#timer.unref() // it may fire for nobody, and holds no process
  }

  readonly #look = (): void => {
    this.#timer = undefined
    const now = performance.now()
    for (const [request, lateAt] of this.#lateAt) {
      if (lateAt > now) {
        this.#timer = setTimeout(this.#look, Math.ceil(lateAt - now))
        return
      }
      this.#lateAt.delete(request)
      request.late()
    }
  }
}
