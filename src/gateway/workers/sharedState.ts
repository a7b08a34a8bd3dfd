/** State that the primary process keeps for all workers: requests and calls of callers, and logged sentences. */
import { MemoryCalls } from '../../server/internal.ts'
import { memoryRates } from '../../state/stores/index.ts'
import type { PrimaryMethods } from './channel.ts'

/** The part of one process, whose calls and reports end with it. */
interface ProcessPart {
  readonly methods: Pick<PrimaryMethods, 'count' | 'begin' | 'end' | 'isNews'>
  readonly endAll: () => void
}

export class WorkersState {
  readonly #rates = memoryRates()
  readonly #calls = new MemoryCalls()
  readonly #news = new SharedNews()

  forProcess(): ProcessPart {
    const process = Symbol('a process')
    const own: string[] = []
    const end = (caller: string): void => {
      const at = own.indexOf(caller)
      if (at < 0) return
      own.splice(at, 1)
      this.#calls.end(caller)
    }
    return {
      methods: {
        count: ({ key, limit }) => this.#rates.count(key, limit),
        begin: ({ caller, limit }) => {
          const isCounted = this.#calls.begin(caller, limit)
          if (isCounted) own.push(caller)
          return isCounted
        },
        end: ({ caller }) => end(caller),
        isNews: ({ topic, text }) => this.#news.isNews(process, topic, text),
      },
      endAll: () => {
        for (const caller of own.splice(0)) this.#calls.end(caller)
        this.#news.forget(process)
      },
    }
  }
}

/** Deduplicates workers' log sentences about the same servers. */
class SharedNews {
  /** The state of a topic, as reported by each process. */
  readonly #said = new Map<string, Map<symbol, string>>()

  isNews(process: symbol, topic: string, text: string | undefined): boolean {
    this.#drop(process, topic)
    if (text === undefined) return false
    const said = this.#said.get(topic) ?? new Map<symbol, string>()
    const isNews = ![...said.values()].includes(text)
    this.#said.set(topic, said.set(process, text))
    return isNews
  }

  forget(process: symbol): void {
    for (const topic of this.#said.keys()) this.#drop(process, topic)
  }

  #drop(process: symbol, topic: string): void {
    const said = this.#said.get(topic)
    said?.delete(process)
    if (said?.size === 0) this.#said.delete(topic)
  }
}
