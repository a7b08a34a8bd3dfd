import type { Json } from '../../protocol/index.ts'
import { fixedStart } from './entries.ts'

/** The fixed beginnings of templates, to see which addresses they may be about. */
export class TemplateStarts {
  readonly #starts = new Set<string>()
  readonly #lengths = new Set<number>()

  add(templates: readonly Json[]): void {
    for (const each of templates) {
      const start = fixedStart(String(each['uriTemplate']))
      if (start === '') continue // it says nothing of what it is about
      this.#starts.add(start)
      this.#lengths.add(start.length)
    }
  }

  /** Whether an address, or all that another template is about, begins with one of them. */
  cover(uri: string): boolean {
    for (const length of this.#lengths) if (this.#starts.has(uri.slice(0, length))) return true
    return false
  }
}
