/**
 * What jobs have done to the world outside, kept where no kill undoes it and no engine has a say: a line in a file for
 * each effect, and a file for each charge.
 */
import { appendFileSync, closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Effect {
  readonly job: string
  readonly name: string
  /** The instance that did it. */
  readonly by: string
  readonly value?: string
}

export class Effects {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  get #lines(): string {
    return join(this.#folder, 'effects')
  }

  /** Added as a whole, or not at all. */
  add(effect: Effect): void {
    appendFileSync(this.#lines, `${JSON.stringify(effect)}\n`)
  }

  all(): Effect[] {
    if (!existsSync(this.#lines)) return []
    const lines = readFileSync(this.#lines, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as Effect)
  }

  /** What was done for a job, in order. */
  of(job: string): Effect[] {
    return this.all().filter((effect) => effect.job === job)
  }

  names(job: string): string[] {
    return this.of(job).map(({ name }) => name)
  }

  /** A service that honours idempotency keys: the same key is charged once, however often it comes. */
  charge(job: string, key: string): void {
    this.isFirst(`charge of ${job} by ${key}`)
  }

  /** How often a job was charged. */
  charges(job: string): number {
    return readdirSync(this.#folder).filter((file) => file.startsWith(`charge of ${job} by `)).length
  }

  /** Whether nobody has asked this before, in any process. */
  isFirst(name: string): boolean {
    try {
      closeSync(openSync(join(this.#folder, name), 'wx'))
      return true
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
      throw error
    }
  }
}
