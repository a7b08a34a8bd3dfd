import type { Logger } from '../../server/index.ts'

/**
 * Runs periodic jobs and logs their failures: once when a job begins to fail and once when it works again, so that an
 * unavailable store does not fill the log.
 */
export class FailureLog {
  readonly #logger: () => Logger
  readonly #failing = new Set<string>()
  #isClosed = false

  constructor(logger: () => Logger) {
    this.#logger = logger
  }

  /** `job` is its name in the log. */
  try(job: string, run: () => void): void {
    try {
      run()
      this.succeeded(job)
    } catch (error) {
      this.failed(job, error)
    }
  }

  /** The same for an asynchronous job. Never rejects. */
  async tryAsync(job: string, run: () => Promise<void>): Promise<void> {
    try {
      await run()
      this.succeeded(job)
    } catch (error) {
      this.failed(job, error)
    }
  }

  failed(job: string, error: unknown): void {
    if (this.#isClosed || this.#failing.has(job)) return
    this.#failing.add(job)
    const err = error instanceof Error ? { name: error.name, message: error.message } : {}
    this.#logger().error({ work: job, err }, 'The task store fails; the job is tried again.')
  }

  succeeded(job: string): void {
    if (this.#failing.delete(job)) this.#logger().info({ work: job }, 'The task store works again.')
  }

  /** Failures after this are expected and are not logged. */
  close(): void {
    this.#isClosed = true
  }
}
