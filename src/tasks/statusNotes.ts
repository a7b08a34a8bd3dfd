/** What a handler says of its progress, told to the store now and then: the last word counts, not each one. */
export class StatusNotes {
  readonly #write: (statusMessage: string) => Promise<void>
  readonly #everyMs: number
  #latest: string | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #writing: Promise<void> | undefined

  constructor(write: (statusMessage: string) => Promise<void>, everyMs = 200) {
    this.#write = write
    this.#everyMs = everyMs
  }

  progress = (progress: number, total: number | undefined, message: string | undefined): void => {
    this.#latest = message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`)
    if (this.#timer === undefined) this.#flush()
  }

  /** Nothing is written after this; resolves when nothing is being written any more. */
  async end(): Promise<void> {
    this.#latest = undefined
    clearTimeout(this.#timer)
    await this.#writing
  }

  #flush(): void {
    this.#timer = undefined
    const latest = this.#latest
    if (latest === undefined) return
    this.#latest = undefined
    // A note that cannot be written is no reason to stop the work; whether the lease holds shows with the next step.
    this.#writing = this.#write(latest).catch(() => {})
    this.#timer = setTimeout(() => this.#flush(), this.#everyMs)
    this.#timer.unref()
  }
}
