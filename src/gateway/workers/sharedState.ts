/** State that the primary process keeps for all workers: requests and calls of callers. */
import { MemoryCalls } from '../../server/internal.ts'
import { memoryRates } from '../../state/stores/index.ts'
import type { PrimaryMethods } from './channel.ts'

/** The part of one process; its calls end with the process. */
interface ProcessPart {
  readonly methods: Pick<PrimaryMethods, 'count' | 'begin' | 'end'>
  readonly endAll: () => void
}

export class WorkersState {
  readonly #rates = memoryRates()
  readonly #calls = new MemoryCalls()

  forProcess(): ProcessPart {
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
      endAll: () => {
        for (const caller of own.splice(0)) this.#calls.end(caller)
      },
    }
  }
}
