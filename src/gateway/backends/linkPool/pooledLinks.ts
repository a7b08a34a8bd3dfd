/** The open links of a pool, by key and in the order in which they were opened. */
import type { Link } from '../../links/link.ts'
import type { CallerLease } from '../../placement/callerLease.ts'
import type { PlacedLink } from './room.ts'
import type { LinkUse, Sharing } from './sharing.ts'

/** A link beside the gateway's own, and its use. */
export interface PooledLink extends LinkUse, PlacedLink {
  readonly key: string
  readonly sharing: Sharing
  readonly link: Promise<Link>
  /** The lease under which this gateway serves the caller. */
  readonly lease: CallerLease | undefined
  idle: ReturnType<typeof setTimeout> | undefined
}

export class PooledLinks extends Set<PooledLink> {
  readonly #byKey = new Map<string, readonly PooledLink[]>()

  /** The oldest first. */
  ofKey(key: string): readonly PooledLink[] {
    return this.#byKey.get(key) ?? []
  }

  override add(link: PooledLink): this {
    this.#byKey.set(link.key, [...this.ofKey(link.key), link])
    return super.add(link)
  }

  override delete(link: PooledLink): boolean {
    const others = this.ofKey(link.key).filter((each) => each !== link)
    if (others.length > 0) this.#byKey.set(link.key, others)
    else this.#byKey.delete(link.key)
    return super.delete(link)
  }
}
