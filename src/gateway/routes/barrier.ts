/** Several routes have one listener. It is closed when none of them needs it any longer. */
import type { Connections } from '../../server/internal.ts'

type Closing = Pick<Connections, 'announceClose' | 'close'>

export class Barrier {
  readonly #connections: Closing
  readonly #last = Promise.withResolvers<void>()
  #left = 0

  constructor(connections: Closing) {
    this.#connections = connections
  }

  /** The listener as one more route has it. */
  join(): Closing {
    this.#left++
    return {
      announceClose: () => this.#connections.announceClose(),
      close: async (idleMs) => {
        this.#left--
        if (this.#left === 0) this.#last.resolve(this.#connections.close(idleMs))
        await this.#last.promise
      },
    }
  }
}
