/** When a load ends: after a time or after a number of units. */
export type Limit = { ms: number } | { count: number }

/** What a load has seen. */
export interface Outcome {
  /** Units of work (calls, flows) that were answered rightly. */
  count: number
  /** The time they took. */
  ms: number
  wrong: number
  firstWrong?: string
}

const MAX_WRONG = 100
/** Far longer than any answer here takes. */
const STALLED_MS = 15_000

/** Counts a load, and says when it is over. */
export class Tally {
  #limit: Limit
  #started = performance.now()
  #stopped: number | undefined
  #count = 0
  #wrong = 0
  #firstWrong: string | undefined

  constructor(limit: Limit) {
    this.#limit = limit
  }

  get running(): boolean {
    return this.#stopped === undefined
  }

  /** An answer that arrives after the end is checked, but not counted. */
  right(): void {
    if (!this.running) return
    this.#count++
    this.#stopWhenDone()
  }

  wrongAnswer(message: string): void {
    this.#wrong++
    this.#firstWrong ??= message
    if (this.#wrong >= MAX_WRONG) this.#stop()
    this.#stopWhenDone()
  }

  outcome(): Outcome {
    const ms = (this.#stopped ?? performance.now()) - this.#started
    const counted = { count: this.#count, ms, wrong: this.#wrong }
    return this.#firstWrong === undefined ? counted : { ...counted, firstWrong: this.#firstWrong }
  }

  #stopWhenDone(): void {
    if (!this.running) return
    const done =
      'ms' in this.#limit ? performance.now() - this.#started >= this.#limit.ms : this.#count >= this.#limit.count
    if (done) this.#stop()
  }

  #stop(): void {
    this.#stopped ??= performance.now()
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
