import type { Logger } from '../../server/index.ts'

/**
 * Runs what is done again and again. A failure is told once and not each time, and so is its end: a store that is away
 * must not fill the log.
 */
export class FailureLog {
  readonly #logger: () => Logger
  readonly #failing = new Set<string>()
  #hasEnded = false

  constructor(logger: () => Logger) {
    this.#logger = logger
  }

  /** `work` names it in the log. */
  try(work: string, run: () => void): void {
    try {
      run()
      this.succeeded(work)
    } catch (error) {
      this.failed(work, error)
    }
  }

  /** The same for what takes a while. Never rejects. */
  async tryAsync(work: string, run: () => Promise<void>): Promise<void> {
    try {
      await run()
      this.succeeded(work)
    } catch (error) {
      this.failed(work, error)
    }
  }

  failed(work: string, error: unknown): void {
    if (this.#hasEnded || this.#failing.has(work)) return
    this.#failing.add(work)
    const err = error instanceof Error ? { name: error.name, message: error.message } : {}
    this.#logger().error({ work, err }, 'The task store fails; it is tried again.')
  }

  succeeded(work: string): void {
    if (this.#failing.delete(work)) this.#logger().info({ work }, 'The task store works again.')
  }

  /** What fails after this was to be expected. */
  close(): void {
    this.#hasEnded = true
  }
}
