/**
 * Warm links: processes and sessions that are opened ahead, initialised and without a caller. The next caller without
 * one takes it, and another is opened in its place. A warm process that exits is not replaced before that, so a server
 * that crashes is not restarted in a loop.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Link, LinkOptions } from '../../links/link.ts'

/** The facts that are fixed when a process or session is initialised. */
export type WarmKind = Pick<LinkOptions, 'declared' | 'callers'>

interface WarmLink {
  readonly kind: WarmKind
  readonly link: Promise<Link | undefined>
}

export class WarmLinks {
  readonly #open: (kind: WarmKind) => Promise<Link>
  #links: readonly WarmLink[] = []

  constructor(open: (kind: WarmKind) => Promise<Link>) {
    this.#open = open
  }

  get size(): number {
    return this.#links.length
  }

  /** A link of this kind; undefined if there is none. */
  async take(kind: WarmKind): Promise<Link | undefined> {
    const found = this.#links.find((warm) => isDeepStrictEqual(warm.kind, kind))
    if (found === undefined) return undefined
    this.#links = this.#links.filter((warm) => warm !== found)
    const link = await found.link
    return link?.isClosed === true ? undefined : link
  }

  /** Opens links until there are `size` of this kind, and closes those of other kinds. */
  fill(kind: WarmKind, size: number): void {
    const same = this.#links.filter((warm) => isDeepStrictEqual(warm.kind, kind))
    void this.#closeAllBut(same.slice(0, size))
    while (this.#links.length < size) this.#start(kind)
  }

  /** Closes those beyond `size`. */
  async fit(size: number): Promise<void> {
    await this.#closeAllBut(this.#links.slice(0, Math.max(0, size)))
  }

  #start(kind: WarmKind): void {
    const warm: WarmLink = { kind, link: this.#open(kind).catch(() => this.#drop(warm)) }
    this.#links = [...this.#links, warm]
  }

  /** Drops the error: the next caller that opens a link gets its own. */
  #drop(failed: WarmLink): undefined {
    this.#links = this.#links.filter((warm) => warm !== failed)
  }

  async #closeAllBut(kept: readonly WarmLink[]): Promise<void> {
    const closed = this.#links.filter((warm) => !kept.includes(warm))
    this.#links = kept
    await Promise.all(closed.map(async ({ link }) => (await link)?.close().catch(() => {})))
  }
}
