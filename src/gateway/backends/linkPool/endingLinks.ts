/** Links that are being closed: their processes still run, and count until they have ended. */
import type { CallerLease, ServerLeases } from '../../leases/serverLeases.ts'
import type { Link } from '../../links/link.ts'

/**
 * What becomes of a link's session: it is ended; another gateway may go on with it; or another gateway has it already, or
 * may have it.
 */
export type Leaving = 'ended' | 'handed on' | 'lost'

interface EndingLink {
  readonly link: Promise<Link>
  /** What lets this gateway serve the caller. */
  readonly lease: CallerLease | undefined
}

export class EndingLinks {
  readonly #leases: ServerLeases | undefined
  readonly #ending = new Set<Promise<void>>()

  constructor(leases: ServerLeases | undefined) {
    this.#leases = leases
  }

  /** Closes a link. Where no other link is under its lease (`isLast`), the caller is given up. */
  end(ended: EndingLink, leaving: Leaving, isLast: (lease: CallerLease) => boolean): void {
    const ending = this.#end(ended, leaving, isLast)
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

  async #end({ link, lease }: EndingLink, leaving: Leaving, isLast: (lease: CallerLease) => boolean): Promise<void> {
    // What another gateway may have taken is not ended here.
    if (leaving === 'lost' || lease?.isValid === false) return detachLink(link)
    await (leaving === 'ended' ? closeLink(link) : detachLink(link))
    if (lease !== undefined && isLast(lease))
      await this.#leases?.release(lease, leaving === 'handed on' && lease.session !== undefined)
  }
}

/** Ends what the link is to. */
async function closeLink(opened: Promise<Link>): Promise<void> {
  const link = await opened.catch(() => undefined)
  await link?.close().catch(() => {}) // it is gone already
}

/** Leaves what the link is to for another gateway. */
async function detachLink(opened: Promise<Link>): Promise<void> {
  const link = await opened.catch(() => undefined)
  await link?.detach().catch(() => {}) // it is gone already
}
