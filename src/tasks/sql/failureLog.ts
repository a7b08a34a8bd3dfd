import type { Logger } from '../../server/index.ts'
import { StateError } from '../../state/internal.ts'

/** Jobs that are retried, and without which tasks are not run. */
const VITAL: ReadonlySet<string> = new Set([
  'claim tasks',
  'check for ready tasks',
  'reclaim tasks of lost workers',
  'remove expired tasks',
  'check the tables',
])

/**
 * Runs periodic jobs and logs their failures: once when a job begins to fail and once when it works again, so that an
 * unavailable store does not fill the log.
 */
export class FailureLog {
  readonly #logger: () => Logger
  readonly #failing = new Map<string, unknown>()
  #isClosed = false

  constructor(logger: () => Logger) {
    this.#logger = logger
  }

  /** The failure of a job without which tasks are not run; undefined while all of them work. */
  get trouble(): StateError | undefined {
    for (const [job, error] of this.#failing) if (VITAL.has(job) && error instanceof StateError) return error
    return undefined
  }

  /** `job` is its name in the log. Never rejects. */
  async try(job: string, run: () => Promise<void>): Promise<void> {
    try {
      await run()
      this.succeeded(job)
    } catch (error) {
      this.failed(job, error)
    }
  }

  failed(job: string, error: unknown): void {
    const isKnown = this.#failing.has(job)
    this.#failing.set(job, error)
    if (this.#isClosed || isKnown) return
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
