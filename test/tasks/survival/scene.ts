import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestContext } from 'vitest'

/** Where one test happens. When it is over, however it ends, every wait ends and everything is cleaned up, the last first. */
export class Scene {
  readonly folder = mkdtempSync(join(tmpdir(), 'pannier-survival-'))
  readonly #over = new AbortController()
  readonly #cleaning: (() => unknown)[] = []

  constructor({ onTestFinished }: TestContext) {
    this.later(() => rmSync(this.folder, { recursive: true, force: true }))
    onTestFinished(async () => {
      this.#over.abort(new Error('The test is over.'))
      for (const clean of this.#cleaning.toReversed()) await clean()
    })
  }

  /** Aborted when the test is over. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  later(clean: () => unknown): void {
    this.#cleaning.push(clean)
  }

  /** Waits for something that other processes do. */
  async until(isSo: () => boolean, lookMs = 10): Promise<void> {
    while (!isSo()) await this.sleep(lookMs)
  }

  async sleep(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.signal })
  }
}
