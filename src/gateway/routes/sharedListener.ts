/** Several routes have one listener. It is closed when none of them needs it any longer. */
import type { Connections } from '../../server/internal.ts'

type Closing = Pick<Connections, 'announceClose' | 'close'>

export class SharedListener {
  readonly #connections: Closing
  readonly #until: () => Promise<void> | undefined
  readonly #last = Promise.withResolvers<void>()
  #left = 0

  /** `until`: clients may still come back for something until this resolves. */
  constructor(connections: Closing, until: () => Promise<void> | undefined) {
    this.#connections = connections
    this.#until = until
  }

  /** The listener as one more route has it. */
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
