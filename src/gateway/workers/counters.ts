/** Requests and calls of callers, counted by the primary process for all workers together. */
import { MemoryCalls } from '../../server/internal.ts'
import { memoryRates } from '../../state/stores/index.ts'
import type { PrimaryMethods } from './rpc.ts'

export class SharedCounters {
  readonly #rates = memoryRates()
  readonly #calls = new MemoryCalls()

  /** For one process, whose calls end with it. */
  forProcess(): { readonly methods: Pick<PrimaryMethods, 'count' | 'begin' | 'end'>; readonly endAll: () => void } {
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
      },
      endAll: () => own.splice(0).forEach((caller) => this.#calls.end(caller)),
    }
  }
}
