/**
 * Which link serves which call. Calls share a link where the server keeps nothing and cannot ask; a call that the server
 * may ask about has a link for itself; and where the server keeps something, each caller has a link of their own.
 */
import { unref } from '../../../protocol/index.ts'
import { BackendError } from '../../errors.ts'
import type { CallerLease, ServerLeases } from '../../leases/serverLeases.ts'
import type { Link } from '../../links/link.ts'
import type { Relayed } from '../../links/relayed.ts'
import { holderOf } from '../callers.ts'
import { closeLink, detachLink, EndingLinks } from './endingLinks.ts'
import { shareOf, Shares } from '../shares.ts'
import { linkKey, mayBeAskedForAnother, type Sharing } from './sharing.ts'
import { PlaceQueue } from './placeQueue.ts'

export interface PlacesOptions {
  readonly server: string
  /** How many links may be open, beside the shared one. */
  readonly maxLinks: number
  readonly idleMs: number
  /** How long a call waits for a place. */
  readonly waitMs: number
  /** Opens a link for these calls; `isOneCaller` where no other caller will use it. */
  readonly open: (relayed: Relayed, isOneCaller: boolean, lease?: CallerLease) => Promise<Link>
  /** Where gateways look up who of them serves a caller. */
  readonly leases?: ServerLeases | undefined
}

/** A link of its own, and who uses it. */
interface LinkPlace {
  readonly key: string
  /** Whose places it counts for. */
  readonly holder: string
  readonly link: Promise<Link>
  /** The link, once it is open. */
  opened: Link | undefined
  /** What lets this gateway serve the caller. */
  readonly lease: CallerLease | undefined
  uses: number
  idle: ReturnType<typeof setTimeout> | undefined
}

/**
 * What becomes of a link's session: it is ended; another gateway may go on with it; or another gateway has it already, or
 * may have it.
 */
type Leaving = 'ended' | 'handed on' | 'lost'

/** With so many calls on each link, another one is opened. */
export const CALLS_AT_ONCE = 8

export class Places {
  readonly #options: PlacesOptions
  readonly #places = new Set<LinkPlace>()
  readonly #waiting = new PlaceQueue()
  /** A call that waits for a person keeps its link, and one caller may have many such calls. */
  readonly #inUse = new Shares()
  /** Links that no other call may use, and that are closed after their last. */
  readonly #retired = new Set<LinkPlace>()
  readonly #ending = new EndingLinks()
  #isHandingOn = false

  constructor(options: PlacesOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#places.size
  }

  /**
   * Runs with a link; opens one where none is free. `hold` keeps it in use until what it gives is called. `lease`: what lets
   * this gateway serve the caller, where gateways look that up.
   */
  async with<T>(
    relayed: Relayed,
    sharing: Sharing,
    use: (link: Link, hold: () => () => void) => Promise<T>,
    lease?: CallerLease,
  ): Promise<T> {
    const holder = holderOf(relayed)
    const place = await this.#take(relayed, sharing, lease)
    this.#inUse.add(holder)
    try {
      const link = await place.link
      if (lease !== undefined) this.#options.leases?.assertOwn(lease)
      return await use(link, () => this.#hold(place))
    } catch (error) {
      // What the server still does for this call must not reach the next one.
      if (sharing === 'call') this.#drop(place)
      else void this.#dropBroken(place)
      throw error
    } finally {
      this.#inUse.remove(holder)
      this.#release(place)
    }
  }

  #hold(place: LinkPlace): () => void {
    let isHeld = true
    place.uses++
    this.#inUse.add(place.holder)
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#inUse.remove(place.holder)
      this.#release(place)
    }
  }

  /** Gives up the links of such a call, so that the next one opens another. Calls that are under way there go on. */
  forget(relayed: Relayed, sharing: Sharing): void {
    const key = linkKey(relayed, sharing)
    for (const place of this.#places) if (place.key === key) this.#retire(place)
  }

  /** From now on, other gateways may go on with what nobody uses here. */
  handOn(): void {
    this.#isHandingOn = true
    for (const place of this.#places) if (place.uses === 0 && place.lease !== undefined) this.#drop(place)
  }

  async close(): Promise<void> {
    for (const place of this.#places) this.#drop(place)
    for (const place of this.#retired) this.#drop(place)
    await this.#ending.all()
  }

  async #take(relayed: Relayed, sharing: Sharing, lease: CallerLease | undefined): Promise<LinkPlace> {
    const until = performance.now() + this.#options.waitMs
    for (;;) {
      const found = sharing === 'all' ? this.#takeShared(relayed) : this.#takeOwn(relayed, sharing, lease)
      if (found !== undefined) {
        found.uses++
        clearTimeout(found.idle)
        return found
      }
      if (performance.now() >= until) throw this.#full()
      await this.#waiting.wait(until - performance.now())
    }
  }

  #takeOwn(relayed: Relayed, sharing: Sharing, lease: CallerLease | undefined): LinkPlace | undefined {
    const isAlone = sharing === 'call' || mayBeAskedForAnother(relayed)
    const hasShare = this.#inUse.of(holderOf(relayed)) < shareOf(this.#options.maxLinks)
    const key = linkKey(relayed, sharing)
    const found = hasShare || !isAlone ? this.#find(key, isAlone, lease) : undefined
    return found ?? (hasShare ? this.#openAnother(key, relayed, true, lease) : undefined)
  }

  /** The link with the fewest calls, unless all have many and there is room for another. */
  #takeShared(relayed: Relayed): LinkPlace | undefined {
    const key = linkKey(relayed, 'all')
    const usable = [...this.#places].filter((place) => place.key === key && this.#isUsable(place))
    const [least] = usable.toSorted((a, b) => a.uses - b.uses)
    const isFree = least !== undefined && least.uses < CALLS_AT_ONCE
    return isFree ? least : (this.#openAnother(key, relayed, false) ?? least)
  }

  /** `alone`: no other call may use it. */
  #find(key: string, alone: boolean, lease: CallerLease | undefined): LinkPlace | undefined {
    for (const place of this.#places)
      if (place.key === key && place.lease === lease && (!alone || place.uses === 0) && this.#isUsable(place))
        return place
    return undefined
  }

  /** A server may end while nobody uses its link. A call that has not begun gets another one. */
  #isUsable(place: LinkPlace): boolean {
    if (place.opened?.isClosed !== true) return true
    this.#retire(place)
    return false
  }

  /** Makes room by closing a link that nobody uses; undefined where all are in use. */
  #openAnother(key: string, relayed: Relayed, isOneCaller: boolean, lease?: CallerLease): LinkPlace | undefined {
    if (this.#places.size >= this.#options.maxLinks) {
      const unused = this.#mostDispensable()
      if (unused === undefined) return undefined
      this.#drop(unused)
    }
    // Only the first link of a caller has the session that gateways hand on.
    const resumed = lease !== undefined && !this.#has(lease) ? lease : undefined
    if (lease !== undefined) this.#follow(lease)
    const link = this.#ending
      .room(this.#options.maxLinks - this.#places.size)
      .then(() => this.#options.open(relayed, isOneCaller, resumed))
    const place: LinkPlace = {
      key,
      holder: holderOf(relayed),
      link,
      opened: undefined,
      lease,
      uses: 0,
      idle: undefined,
    }
    this.#places.add(place)
    link.then(
      (opened) => (place.opened = opened),
      () => this.#drop(place),
    )
    return place
  }

  #has(lease: CallerLease): boolean {
    return [...this.#places, ...this.#retired].some((place) => place.lease === lease)
  }

  /** What another gateway has taken, or may take while it is used here, is closed here. */
  #follow(lease: CallerLease): void {
    const drop = (isOver: (place: LinkPlace) => boolean): void => {
      for (const place of [...this.#places, ...this.#retired])
        if (place.lease === lease && isOver(place)) this.#drop(place, 'lost')
    }
    lease.isUsed = true
    lease.onLost = () => drop(() => true)
    lease.onLapsed = () => drop(({ uses }) => uses > 0)
  }

  /** Of those that hold the most places, the link that nobody has used for longest. */
  #mostDispensable(): LinkPlace | undefined {
    const held = new Shares()
    for (const { holder } of this.#places) held.add(holder)
    const unused = [...this.#places].filter(({ uses }) => uses === 0)
    return unused.toSorted((a, b) => held.of(b.holder) - held.of(a.holder))[0]
  }

  #release(place: LinkPlace): void {
    place.uses--
    if (place.uses === 0 && this.#retired.has(place)) this.#drop(place)
    if (place.uses > 0 || !this.#places.has(place)) return this.#waiting.wakeAll()
    if (this.#isHandingOn && place.lease !== undefined) return this.#drop(place)
    // Last used, last in order: what is closed first is what nobody has used for longest.
    this.#places.delete(place)
    this.#places.add(place)
    place.idle = unref(setTimeout(() => this.#drop(place), this.#options.idleMs))
    this.#waiting.wakeAll()
  }

  async #dropBroken(place: LinkPlace): Promise<void> {
    const link = await place.link.catch(() => undefined)
    if (link === undefined || link.isClosed) this.#drop(place)
  }

  #drop(place: LinkPlace, leaving: Leaving = this.#isHandingOn && place.lease ? 'handed on' : 'ended'): void {
    clearTimeout(place.idle)
    const wasThere = this.#places.delete(place)
    if (!this.#retired.delete(place) && !wasThere) return
    this.#ending.add(this.#end(place, leaving))
    this.#waiting.wakeAll()
  }

  async #end({ link, lease }: LinkPlace, leaving: Leaving): Promise<void> {
    // What another gateway may have taken is not ended here.
    if (leaving === 'lost' || lease?.isValid === false) return detachLink(link)
    await (leaving === 'ended' ? closeLink(link) : detachLink(link))
    if (lease === undefined || this.#has(lease)) return
    await this.#options.leases?.release(lease, leaving === 'handed on' && lease.session !== undefined)
  }

  #retire(place: LinkPlace): void {
    if (place.uses === 0) return this.#drop(place)
    if (!this.#places.delete(place)) return
    this.#retired.add(place)
    this.#waiting.wakeAll()
  }

  #full(): BackendError {
    const { server, maxLinks, waitMs } = this.#options
    const sentence = `has no room: ${maxLinks} callers use it, and none has left within ${waitMs / 1000} seconds. Try again later, or raise maxProcesses or maxSessions.`
    return new BackendError('BACKEND_BUSY', server, sentence)
  }
}
