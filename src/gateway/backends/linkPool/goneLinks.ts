/** Links that have ended with what their server kept for a caller. The next result of a tool says so, once. */
import type { Json } from '../../../protocol/index.ts'

/** Maximum number of callers remembered. */
const MAX_GONE = 10_000

export class GoneLinks {
  readonly #server: string
  /** Why a link is gone, by its key. */
  readonly #gone = new Map<string, string>()

  constructor(server: string) {
    this.#server = server
  }

  /** `why` ends a sentence about the process or session. */
  add(key: string, why: string): void {
    this.#gone.delete(key)
    for (const oldest of this.#gone.keys()) {
      if (this.#gone.size < MAX_GONE) break
      this.#gone.delete(oldest)
    }
    this.#gone.set(key, why)
  }

  /** The result of a caller's request. Models read content, and clients of both eras show it. */
  toldIn(key: string, result: Json): Json {
    const why = this.#gone.get(key)
    const { content } = result
    if (why === undefined || !Array.isArray(content)) return result
    this.#gone.delete(key)
    const text = `The process or session that the server "${this.#server}" had for this caller ${why}. What the server kept there is gone.`
    return { ...result, content: [...(content as unknown[]), { type: 'text', text }] }
  }
}
