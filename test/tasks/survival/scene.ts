import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'vitest'

/** Where one test happens. When it is over, however it ends, everything is cleaned up, the last first. */
export class Scene {
  readonly folder = mkdtempSync(join(tmpdir(), 'pannier-survival-'))
  readonly #cleaning: (() => unknown)[] = []

  constructor({ onTestFinished }: TestContext) {
    this.later(() => rmSync(this.folder, { recursive: true, force: true }))
    onTestFinished(async () => {
      for (const clean of this.#cleaning.toReversed()) await clean()
    })
  }

  later(clean: () => unknown): void {
    this.#cleaning.push(clean)
  }
}
