/** A load ends after a time or a number of units. Requests that are under way then are completed and counted. */
export type Limit = { ms: number } | { count: number }

/** The result of a load. */
export interface Outcome {
  /** Units of work (calls, elicitations) with a right response. */
  count: number
  /** The time until the last response. */
  ms: number
  /** The median time of a unit, where units are sent one after the other. */
  medianMs?: number
  wrong: number
  firstWrong?: string
}

/** An open load on one process, which can run more than once. */
export interface Session {
  run(limit: Limit): Promise<Outcome>
  close(): void
}

const MAX_WRONG = 100
/** Far longer than any response takes. */
const STALLED_MS = 15_000

/** Counts the responses of a load; `running` is false once nothing new should be sent. */
export class Tally {
  #limit: Limit
  #started = performance.now()
  #count = 0
  #wrong = 0
  #firstWrong: string | undefined
  running = true

  constructor(limit: Limit) {
    this.#limit = limit
  }

  countRight(): void {
    this.#count++
    this.#stopWhenDone()
  }

  countWrong(message: string): void {
    this.#wrong++
    this.#firstWrong ??= message
    this.#stopWhenDone()
  }

  outcome(): Outcome {
    const counted = { count: this.#count, ms: performance.now() - this.#started, wrong: this.#wrong }
    return this.#firstWrong === undefined ? counted : { ...counted, firstWrong: this.#firstWrong }
  }

  #stopWhenDone(): void {
    const done =
      'ms' in this.#limit ? performance.now() - this.#started >= this.#limit.ms : this.#count >= this.#limit.count
    if (done || this.#wrong >= MAX_WRONG) this.running = false
  }
}

/** Fails when a server has stopped responding. */
export async function withinTime<T>(limit: Limit, work: Promise<T>): Promise<T> {
  const allowedMs = STALLED_MS + ('ms' in limit ? limit.ms : 60_000)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('The server has stopped responding.')), allowedMs)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
