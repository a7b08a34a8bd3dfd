/**
 * The calls and failures of each server in each minute of the last hour, for the console. It is always recorded: an addition for each
 * call, and 120 numbers for each server.
 */
const MINUTES = 60
const MINUTE_MS = 60_000

export interface ServerHour {
  /** Calls in each minute, oldest first; the last one is the present minute. */
  readonly calls: readonly number[]
  readonly failures: readonly number[]
}

export class CallHistory {
  readonly #hours = new Map<string, Hour>()
  readonly #clock: () => number

  constructor(clock: () => number = Date.now) {
    this.#clock = clock
  }

  ended(server: string, isFailure: boolean): void {
    const hour = this.#hours.get(server) ?? new Hour()
    this.#hours.set(server, hour)
    hour.add(Math.floor(this.#clock() / MINUTE_MS), isFailure)
  }

  of(server: string): ServerHour {
    const hour = this.#hours.get(server) ?? new Hour()
    return hour.read(Math.floor(this.#clock() / MINUTE_MS))
  }

  /** Removes the servers that are no longer configured. */
  keep(servers: ReadonlySet<string>): void {
    for (const server of this.#hours.keys()) if (!servers.has(server)) this.#hours.delete(server)
  }
}

/** A ring with a place for each minute. */
class Hour {
  readonly #calls = new Float64Array(MINUTES)
  readonly #failures = new Float64Array(MINUTES)
  #last = 0

  add(minute: number, isFailure: boolean): void {
    this.#turnTo(minute)
    const at = minute % MINUTES
    this.#calls[at] = (this.#calls[at] ?? 0) + 1
    if (isFailure) this.#failures[at] = (this.#failures[at] ?? 0) + 1
  }

  read(minute: number): ServerHour {
    this.#turnTo(minute)
    const inOrder = (ring: Float64Array): number[] =>
      Array.from({ length: MINUTES }, (_, at) => ring[(minute + 1 + at) % MINUTES] ?? 0)
    return { calls: inOrder(this.#calls), failures: inOrder(this.#failures) }
  }

  /** Empties the places of the minutes without a call. */
  #turnTo(minute: number): void {
    for (let gone = Math.max(this.#last + 1, minute - MINUTES + 1); gone <= minute; gone++) {
      this.#calls[gone % MINUTES] = 0
      this.#failures[gone % MINUTES] = 0
    }
    this.#last = Math.max(this.#last, minute)
  }
}
