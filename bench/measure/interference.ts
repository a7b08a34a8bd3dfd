import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 250
/** A measurement is disturbed when other processes use this share of a core or more. */
const MAX_OTHERS_CPU = 0.1

/** How much of our two cores other processes used during a measurement, 0 to 2; absent where it is not known. */
export interface Interference {
  othersCpu?: number
}

/**
 * Repeats measurements that other processes disturbed, once these are idle, until a run has spent its time for that.
 * From then on disturbed measurements count. The CPU time of the others decides about a repetition, never the result.
 */
export class InterferenceBudget {
  #leftMs: number
  #busyMs: () => number | undefined
  /** How many measurements were repeated. */
  repeated = 0

  /** `busyMs` returns how long the cores have been busy so far. */
  constructor(ms: number, busyMs: () => number | undefined) {
    this.#leftMs = ms
    this.#busyMs = busyMs
  }

  async undisturbed<T extends Interference>(measure: () => Promise<T>): Promise<T> {
    for (;;) {
      const started = performance.now()
      const result = await measure()
      const ms = performance.now() - started
      if (!isDisturbed(result) || this.#leftMs <= ms) return result
      this.#leftMs -= ms
      this.repeated++
      await this.#waitForIdle()
    }
  }

  async #waitForIdle(): Promise<void> {
    while (this.#leftMs > 0) {
      const before = this.#busyMs()
      const started = performance.now()
      await sleep(POLL_MS)
      const after = this.#busyMs()
      const ms = performance.now() - started
      if (before === undefined || after === undefined || (after - before) / ms < MAX_OTHERS_CPU) return
      this.#leftMs -= ms
    }
  }
}

export function isDisturbed({ othersCpu }: Interference): boolean {
  return (othersCpu ?? 0) >= MAX_OTHERS_CPU
}
