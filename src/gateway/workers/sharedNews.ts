/** What workers say in their logs of the same servers, known to the primary process, so that one of them says it. */
import type { PrimaryMethods } from './rpc.ts'

export class SharedNews {
  /** What is true of a topic, as each process says that knows of it. */
  readonly #said = new Map<string, Map<symbol, string>>()

  /** For one process, which says nothing any longer when it ends. */
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
