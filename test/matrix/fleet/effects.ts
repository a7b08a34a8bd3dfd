/** The file in which servers write down what their tools have done (`serving/effects.ts`). */
import { readFileSync, writeFileSync } from 'node:fs'

/** One line of it. */
export interface Effect {
  readonly what: string
  readonly pid: number
}

export class Effects {
  readonly path: string
  #read = 0
  readonly #byKey = new Map<string, Effect[]>()

  constructor(path: string) {
    this.path = path
    writeFileSync(path, '')
  }

  /** What was done for a key. */
  of(key: string): readonly Effect[] {
    const text = readFileSync(this.path, 'utf8').slice(this.#read)
    this.#read += text.lastIndexOf('\n') + 1
    for (const line of text.split('\n').slice(0, -1)) {
      const [what = '', of = '', pid] = line.split(' ')
      this.#byKey.set(of, [...(this.#byKey.get(of) ?? []), { what, pid: Number(pid) }])
    }
    return this.#byKey.get(key) ?? []
  }
}
