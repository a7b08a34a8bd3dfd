/** Waiting for something to happen, or for some time to pass. A ring that nobody waited for counts next time. */
export class Bell {
  #isRung = false
  #wake: (() => void) | undefined

  readonly ring = (): void => {
    this.#isRung = true
    this.#wake?.()
  }

  /** Rejects with the signal's reason as soon as it is aborted. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!this.#isRung) await this.#rungWithin(ms, signal)
    this.#isRung = false
    signal.throwIfAborted()
  }

  #rungWithin(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        this.#wake = undefined
        resolve()
      }
      const timer = setTimeout(wake, ms)
      this.#wake = wake
      signal.addEventListener('abort', wake, { once: true })
    })
  }
}
