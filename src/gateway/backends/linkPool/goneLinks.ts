/**
 * Links that ended together with state that their server kept for a caller. The caller's next tool result mentions it,
 * once.
 */
import { type Json, setNewest } from '../../../protocol/index.ts'

/** Maximum number of callers remembered. */
const MAX_GONE = 10_000

export class GoneLinks {
  readonly #server: string
  /** The reason why a link ended, by its key. */
  readonly #gone = new Map<string, string>()

  constructor(server: string) {
    this.#server = server
  }

  /** `why` ends a sentence about the process or session. */
  add(key: string, why: string): void {
    setNewest(this.#gone, key, why, MAX_GONE)
  }

  /** Appends the notice to a caller's result, as content: models read it, and clients of both eras show it. */
  withNotice(key: string, result: Json): Json {
    const why = this.#gone.get(key)
    const { content } = result
    if (why === undefined || !Array.isArray(content)) return result
    this.#gone.delete(key)
    const text = `The process or session that the server "${this.#server}" had for this caller ${why}. What the server kept there is gone.`
    return { ...result, content: [...(content as unknown[]), { type: 'text', text }] }
  }
}
