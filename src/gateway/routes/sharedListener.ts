/** One listener for several routes. It closes when no route needs it any more. */
import type { Connections } from '../../server/internal.ts'

type Closing = Pick<Connections, 'announceClose' | 'close'>

export class SharedListener {
  readonly #connections: Closing
  readonly #until: () => Promise<void> | undefined
  readonly #last = Promise.withResolvers<void>()
  #left = 0

  /** `until`: resolves when no client can come back any more. */
  constructor(connections: Closing, until: () => Promise<void> | undefined) {
    this.#connections = connections
    this.#until = until
  }

  /** The listener for one more route. */
  join(): Closing {
    this.#left++
    return {
      announceClose: () => this.#connections.announceClose(),
      close: async (idleMs) => {
        this.#left--
        if (this.#left === 0) this.#last.resolve(this.#close(idleMs))
        await this.#last.promise
      },
    }
  }

  async #close(idleMs: number): Promise<void> {
    await this.#until()
    await this.#connections.close(idleMs)
  }
}
