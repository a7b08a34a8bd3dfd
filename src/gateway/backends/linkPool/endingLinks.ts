/** Links that are being closed. Their processes count against the limit until they have exited. */
import type { CallerLease } from '../../placement/callerLease.ts'
import type { ServerLeases } from '../../placement/serverLeases.ts'
import type { Link } from '../../links/link.ts'

/** The fate of a link's session: ended, left for another gateway to claim, or possibly claimed by one. */
export type Leaving = 'ended' | 'handed off' | 'lost'

interface EndingLink {
  readonly link: Promise<Link>
  /** The lease under which this gateway serves the caller. */
  readonly lease: CallerLease | undefined
}

export class EndingLinks {
  readonly #leases: ServerLeases | undefined
  readonly #ending = new Set<Promise<void>>()

  constructor(leases: ServerLeases | undefined) {
    this.#leases = leases
  }

  /** Closes a link. The lease is released with its last link (`isLast`). */
  end(ended: EndingLink, leaving: Leaving, isLast: (lease: CallerLease) => boolean): void {
    const ending = this.#end(ended, leaving, isLast)
    this.#ending.add(ending)
    void ending.then(() => this.#ending.delete(ending))
  }

  /** Waits for a process to exit if the exiting ones take all remaining places. */
  async place(left: number): Promise<void> {
    const [ending] = this.#ending
    if (ending === undefined || this.#ending.size < left) return
    this.#ending.delete(ending)
    await ending
  }

  async all(): Promise<void> {
    await Promise.all(this.#ending)
  }

  async #end({ link, lease }: EndingLink, leaving: Leaving, isLast: (lease: CallerLease) => boolean): Promise<void> {
    // A session that another gateway may have claimed is not ended here.
    if (leaving === 'lost' || lease?.isValid === false) return detachLink(link)
    await (leaving === 'ended' ? closeLink(link) : detachLink(link))
    if (lease !== undefined && isLast(lease))
      await this.#leases?.release(lease, leaving === 'handed off' && lease.session !== undefined)
  }
}

/** Ends the process or session of a link. */
async function closeLink(opened: Promise<Link>): Promise<void> {
  const link = await opened.catch(() => undefined)
  await link?.close().catch(() => {}) // already gone
}

/** Leaves the session of a link to another gateway. */
async function detachLink(opened: Promise<Link>): Promise<void> {
  const link = await opened.catch(() => undefined)
  await link?.detach().catch(() => {}) // already gone
}
