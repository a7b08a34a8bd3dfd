/** Links that are being closed: their processes still run, and count until they have ended. */
import type { Link } from '../../links/link.ts'

export class EndingLinks {
  readonly #ending = new Set<Promise<void>>()

  add(ending: Promise<void>): void {
    this.#ending.add(ending)
    void ending.then(() => this.#ending.delete(ending))
  }

  /** Where so few processes may run beside the others that those which end fill the room, the next one waits for one of them. */
  async room(left: number): Promise<void> {
    const [ending] = this.#ending
    if (ending === undefined || this.#ending.size < left) return
    this.#ending.delete(ending)
    await ending
  }

  async all(): Promise<void> {
    await Promise.all(this.#ending)
  }
}

/** Ends what the link is to. */
export async function closeLink(opened: Promise<Link>): Promise<void> {
  const link = await opened.catch(() => undefined)
  await link?.close().catch(() => {}) // it is gone already
}

/** Leaves what the link is to for another gateway. */
export async function detachLink(opened: Promise<Link>): Promise<void> {
  const link = await opened.catch(() => undefined)
  await link?.detach().catch(() => {}) // it is gone already
}
