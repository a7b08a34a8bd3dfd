/** However often the lists of a server change, they are read one after the other, with a pause between. */
import { sleep } from '../../../protocol/index.ts'

const PAUSE_MS = 500

/**
 * The notifications after which the lists are read again. What came before a subscription was acknowledged was not told,
 * so the acknowledgement is one of them.
 */
export const LISTS_MAY_DIFFER =
  /^notifications\/(?:(?:tools|prompts|resources)\/list_changed|subscriptions\/acknowledged)$/

export class ListRefresher {
  readonly #read: () => Promise<void>
  readonly #signal: AbortSignal
  #isReading = false
  #isStale = false

  constructor(read: () => Promise<void>, signal: AbortSignal) {
    this.#read = read
    this.#signal = signal
  }

  /** Reads them again soon. */
  request(): void {
    this.#isStale = true
    if (!this.#isReading) void this.#readUntilFresh()
  }

  async #readUntilFresh(): Promise<void> {
    this.#isReading = true
    while (this.#isStale && !this.#signal.aborted) {
      this.#isStale = false
      await this.#read()
      await sleep(PAUSE_MS, this.#signal).catch(() => {})
    }
    this.#isReading = false
  }
}
