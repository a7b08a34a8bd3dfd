/** When a load ends: after a time or after a number of units. What is under way then is still answered, and counted. */
export type Limit = { ms: number } | { count: number }

/** What a load has seen. */
export interface Outcome {
  /** Units of work (calls, flows) that were answered rightly. */
  count: number
  /** The time they took, to the last answer. */
  ms: number
  /** The middle one of the times of single units, where they come one after the other. */
  medianMs?: number
  wrong: number
  firstWrong?: string
}

/** A way to put load on one process, again and again. */
export interface Session {
  run(limit: Limit): Promise<Outcome>
  close(): void
}

const MAX_WRONG = 100
/** Far longer than any answer here takes. */
const STALLED_MS = 15_000

/** Counts a load, and says when nothing new should be sent. */
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

/** Ends a wait that would never end: a load whose server has stopped answering. */
export async function withinTime<T>(limit: Limit, work: Promise<T>): Promise<T> {
  const allowedMs = STALLED_MS + ('ms' in limit ? limit.ms : 60_000)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('The server has stopped answering.')), allowedMs)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
