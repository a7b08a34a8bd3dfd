import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 250
/** What others may use of a core before a measurement counts as disturbed. */
const MAX_OTHERS_CPU = 0.1

/** What everything else on the machine used of our cores during a measurement, 0 to 2; absent where it is not known. */
export interface Interference {
  othersCpu?: number
}

/**
 * Time that a run may spend on others who use the machine: what they disturbed is measured again once they are quiet.
 * What decides is their CPU time, never the result. When the time is spent, disturbed measurements count.
 */
export class InterferenceBudget {
  #leftMs: number
  #busyMs: () => number | undefined
  /** Measurements that were made again. */
  repeated = 0

  /** `busyMs` tells how long the cores have been busy so far. */
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
      await this.#quiet()
    }
  }

  async #quiet(): Promise<void> {
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
