import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_MS = 250
/** What others may use of a core before a measurement counts as disturbed. */
const DISTURBED = 0.1

/** The one thing a sample must tell: what others on the machine used of the cores meanwhile. */
interface Disturbable {
  othersCpu?: number
}

/**
 * Time that a run may spend on others who use the machine: what they disturbed is measured again once they are quiet.
 * What decides is their CPU time, never the result. When the time is spent, disturbed samples count.
 */
export class Patience {
  #leftMs: number
  #othersBusyMs: () => number | undefined
  /** Samples that were measured again. */
  repeated = 0

  constructor(ms: number, othersBusyMs: () => number | undefined) {
    this.#leftMs = ms
    this.#othersBusyMs = othersBusyMs
  }

  async undisturbed<T extends Disturbable>(measure: () => Promise<T>): Promise<T> {
    for (;;) {
      const started = performance.now()
      const sample = await measure()
      const ms = performance.now() - started
      if (!isDisturbed(sample) || this.#leftMs <= ms) return sample
      this.#leftMs -= ms
      this.repeated++
      await this.#quiet()
    }
  }

  async #quiet(): Promise<void> {
    while (this.#leftMs > 0) {
      const before = this.#othersBusyMs()
      const started = performance.now()
      await sleep(LOOK_MS)
      const after = this.#othersBusyMs()
      const ms = performance.now() - started
      if (before === undefined || after === undefined || (after - before) / ms < DISTURBED) return
      this.#leftMs -= ms
    }
  }
}

export function isDisturbed(sample: Disturbable): boolean {
  return (sample.othersCpu ?? 0) >= DISTURBED
}
