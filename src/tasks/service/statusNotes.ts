/** What a handler says of its progress, told to the store now and then: the last word counts, not each one. */
export class StatusNotes {
  readonly #write: (statusMessage: string) => Promise<void>
  readonly #everyMs: number
  #latest: string | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #writing: Promise<void> | undefined
  /** Something is being written, or was a moment ago. */
  #isPausing = false
  #hasEnded = false

  constructor(write: (statusMessage: string) => Promise<void>, everyMs = 200) {
    this.#write = write
    this.#everyMs = everyMs
  }

  progress = (progress: number, total: number | undefined, message: string | undefined): void => {
    this.#latest = message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`)
    if (!this.#isPausing) this.#flush()
  }

  /** Nothing is written after this, except the last word where people will see it for long. */
  async end(lastWord: 'written' | 'dropped' = 'dropped'): Promise<void> {
    const latest = this.#latest
    this.#hasEnded = true
    clearTimeout(this.#timer)
    await this.#writing
    if (lastWord === 'written' && latest !== undefined) await this.#write(latest).catch(() => {})
  }

  #flush(): void {
    const latest = this.#latest
    this.#latest = undefined
    this.#isPausing = latest !== undefined && !this.#hasEnded
    if (latest !== undefined && this.#isPausing) this.#writing = this.#writeAndPause(latest)
  }

  /** One at a time: where the store is slow, an older word must not come after a newer one. */
  async #writeAndPause(latest: string): Promise<void> {
    // A note that cannot be written is no reason to stop the work; whether the lease holds shows with the next step.
    await this.#write(latest).catch(() => {})
    if (this.#hasEnded) return
    this.#timer = setTimeout(() => this.#flush(), this.#everyMs)
    this.#timer.unref()
  }
}
