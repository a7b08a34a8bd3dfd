/** Deduplicates workers' log sentences about the same servers, in the primary process. */
import type { PrimaryMethods } from './rpc.ts'

export class SharedNews {
  /** The state of a topic, as reported by each process. */
  readonly #said = new Map<string, Map<symbol, string>>()

  /** The part of one process, whose reports end with it. */
  forProcess(): { readonly methods: Pick<PrimaryMethods, 'isNews'>; readonly endAll: () => void } {
    const process = Symbol('a process')
    return {
      methods: { isNews: ({ topic, text }) => this.#isNews(process, topic, text) },
      endAll: () => {
        for (const topic of this.#said.keys()) this.#forget(process, topic)
      },
    }
  }

  #isNews(process: symbol, topic: string, text: string | undefined): boolean {
    this.#forget(process, topic)
    if (text === undefined) return false
    const said = this.#said.get(topic) ?? new Map<symbol, string>()
    const isNews = ![...said.values()].includes(text)
    this.#said.set(topic, said.set(process, text))
    return isNews
  }

  #forget(process: symbol, topic: string): void {
    const said = this.#said.get(topic)
    said?.delete(process)
    if (said?.size === 0) this.#said.delete(topic)
  }
}
