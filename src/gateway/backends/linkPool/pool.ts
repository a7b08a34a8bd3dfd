/**
 * The pool of links: which link serves which call. Calls share a link if the server is stateless and cannot ask; a call
 * that the server may ask about has a link for itself; for a stateful server each caller has its own link.
 *
 * The states of a link:
 *
 *     opening   its process starts, or its session begins. It is already taken and counts; if it fails, it is dropped.
 *     in use    calls are on it, or it is held for a task.
 *     idle      no call is on it. The next one takes it; it ends after `idleSeconds`, or is evicted (room.ts).
 *     retired   calls are still on it, and it takes no more: its server has closed it, or has forgotten its session.
 *               It ends after its last call, and no longer counts.
 *     ending    it is being closed, or left for another gateway. Its process counts until it has exited.
 */
import { type Json, unref } from '../../../protocol/index.ts'
import { quotaCaller } from '../../links/callers.ts'
import type { Link } from '../../links/link.ts'
import type { Relayed } from '../../links/relayed.ts'
import type { CallerLease } from '../../placement/callerLease.ts'
import type { ServerLeases } from '../../placement/serverLeases.ts'
import { Waiters } from '../../waiting.ts'
import { EndingLinks, type Leaving } from './endingLinks.ts'
import { GoneLinks } from './goneLinks.ts'
import { type PooledLink, PooledLinks } from './pooledLinks.ts'
import { type Keeping, LinkRoom, type LinkRoomOptions } from './room.ts'
import { callersOn, linkKey, linkOwner, mayJoin, needsOwnLink, type Sharing } from './sharing.ts'

export interface LinkPoolOptions extends Omit<LinkRoomOptions<never>, 'evict'> {
  /** Whether links of one caller hold state, as far as known. @default 'nothing' */
  readonly keeping?: (() => Keeping) | undefined
  /** Called when an evicted link may have held state. */
  readonly onEvicted?: (() => void) | undefined
  /** Opens a link for calls with this sharing. */
  readonly open: (relayed: Relayed, sharing: Sharing, lease?: CallerLease) => Promise<Link>
  /** Leases of callers, where gateways share a database. */
  readonly leases?: ServerLeases | undefined
  /** Evicts a parked call to free a link for this caller; returns false if none may be evicted. */
  readonly evictParked?: ((caller: string) => boolean) | undefined
}

interface Opening {
  readonly lease?: CallerLease | undefined
  /** Whether its call has waited for others to end. */
  readonly hasWaited?: boolean
}

/** Wait for a link before a parked call, or a link of a larger caller, is evicted. Most calls finish sooner. */
const EVICT_AFTER_MS = 1000
/** Calls on each shared link before another one is opened. */
export const CALLS_AT_ONCE = 8

export class LinkPool {
  readonly #options: LinkPoolOptions
  readonly #links = new PooledLinks()
  /** Calls that wait for a link. A free link wakes all of them, because the first may already have its share. */
  readonly #waiting = new Waiters()
  readonly #room: LinkRoom<PooledLink>
  readonly #gone: GoneLinks
  /** Links that take no more calls, and close after their last. */
  readonly #retired = new Set<PooledLink>()
  readonly #ending: EndingLinks
  #isHandingOff = false

  constructor(options: LinkPoolOptions) {
    this.#options = options
    this.#room = new LinkRoom({ ...options, evict: (pooled) => this.#evict(pooled) })
    this.#gone = new GoneLinks(options.server)
    this.#ending = new EndingLinks(options.leases)
  }

  get size(): number {
    return this.#links.size
  }

  /**
   * Runs `use` with a link; opens one if none is free. `hold` keeps the link in use until the returned function is
   * called. `lease`: the lease under which this gateway serves the caller.
   */
  async with(
    relayed: Relayed,
    sharing: Sharing,
    use: (link: Link, hold: () => () => void) => Promise<Json>,
    lease?: CallerLease,
  ): Promise<Json> {
    const caller = quotaCaller(relayed)
    const pooled = await this.#take(relayed, sharing, lease)
    this.#room.begin(caller)
    try {
      const link = await pooled.link
      if (lease !== undefined) this.#options.leases?.assertOwn(lease)
      const result = await use(link, () => this.#hold(pooled))
      return relayed.method === 'tools/call' ? this.#gone.withNotice(pooled.key, result) : result
    } catch (error) {
      // Late messages of the failed call must not reach the next one.
      if (sharing === 'call') this.#drop(pooled)
      else void this.#retireBroken(pooled)
      throw error
    } finally {
      this.#room.end(caller)
      if (pooled.callers === 'one') pooled.isExclusive = false // an exclusive call was the only one on the link
      this.#release(pooled)
    }
  }

  #hold(pooled: PooledLink): () => void {
    let isHeld = true
    pooled.uses++
    this.#room.begin(pooled.caller)
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#room.end(pooled.caller)
      this.#release(pooled)
    }
  }

  /** Retires the links of this call's key, so that the next call opens another. Calls in flight finish. */
  forget(relayed: Relayed, sharing: Sharing): void {
    const key = linkKey(relayed, sharing)
    for (const pooled of this.#links.ofKey(key)) this.#retire(pooled, 'has ended')
  }

  /** Closes the links of a caller that will not come back. Calls in flight finish. */
  leave(owner: string): void {
    for (const pooled of this.#links) if (pooled.owner === owner) this.#retire(pooled)
  }

  /** Releases idle sessions to other gateways, now and when further ones become idle. */
  handOff(): void {
    this.#isHandingOff = true
    for (const pooled of this.#links) if (pooled.uses === 0 && pooled.lease !== undefined) this.#drop(pooled)
  }

  async close(): Promise<void> {
    for (const pooled of this.#links) this.#drop(pooled)
    for (const pooled of this.#retired) this.#drop(pooled)
    await this.#ending.all()
  }

  async #take(relayed: Relayed, sharing: Sharing, lease: CallerLease | undefined): Promise<PooledLink> {
    const since = performance.now()
    const until = since + this.#options.waitMs
    let evicted = since
    for (;;) {
      const now = performance.now()
      const hasWaited = now >= since + EVICT_AFTER_MS
      const found = sharing === 'all' ? this.#takeShared(relayed) : this.#takeOwn(relayed, sharing, lease, hasWaited)
      if (found !== undefined) {
        found.uses++
        this.#room.use(found)
        clearTimeout(found.idle)
        return found
      }
      const caller = quotaCaller(relayed)
      if (now >= until) throw this.#room.full(caller)
      if (now >= evicted + EVICT_AFTER_MS) {
        evicted = now
        if (this.#room.hasShare(caller)) this.#options.evictParked?.(caller)
      }
      await this.#waiting.wait(Math.min(until, evicted + EVICT_AFTER_MS) - now)
    }
  }

  #takeOwn(
    relayed: Relayed,
    sharing: Sharing,
    lease: CallerLease | undefined,
    hasWaited: boolean,
  ): PooledLink | undefined {
    const isExclusive = needsOwnLink(relayed, sharing)
    const hasShare = this.#room.hasShare(quotaCaller(relayed))
    const key = linkKey(relayed, sharing)
    const found =
      (hasShare || !isExclusive ? this.#find(key, isExclusive, lease) : undefined) ??
      (hasShare ? this.#openAnother(key, relayed, sharing, { lease, hasWaited }) : undefined)
    if (found !== undefined && isExclusive) found.isExclusive = true
    return found
  }

  /** The link with the fewest calls; a new one if all are busy and the limit allows it. */
  #takeShared(relayed: Relayed): PooledLink | undefined {
    const key = linkKey(relayed, 'all')
    const usable = this.#links.ofKey(key).filter((pooled) => this.#isUsable(pooled))
    const [least] = usable.toSorted((a, b) => a.uses - b.uses)
    const isFree = least !== undefined && least.uses < CALLS_AT_ONCE
    return isFree ? least : (this.#openAnother(key, relayed, 'all', {}) ?? least)
  }

  /** The caller's first link, which has the server's state, before those opened while it was in use. */
  #find(key: string, isExclusive: boolean, lease: CallerLease | undefined): PooledLink | undefined {
    const own = this.#links.ofKey(key).filter((pooled) => pooled.lease === lease && mayJoin(pooled, isExclusive))
    return own.find((pooled) => this.#isUsable(pooled))
  }

  /** Retires a link whose server has closed it. */
  #isUsable(pooled: PooledLink): boolean {
    if (pooled.opened?.isClosed !== true) return true
    this.#retire(pooled, 'has ended')
    return false
  }

  /** Opens a link, evicting an idle one at the limit; undefined if there is no room. */
  #openAnother(key: string, relayed: Relayed, sharing: Sharing, { lease, hasWaited = false }: Opening) {
    const place = { caller: quotaCaller(relayed), owner: linkOwner(relayed, key) }
    if (!this.#room.makeFor(place, sharing === 'caller' && this.#mayKeep, hasWaited)) return undefined
    // Only the first link of a caller has the session that gateways hand off.
    const resumed = lease !== undefined && !this.#has(lease) ? lease : undefined
    if (lease !== undefined) this.#follow(lease)
    const link = this.#ending
      .place(this.#options.maxLinks - this.#links.size)
      .then(() => this.#options.open(relayed, sharing, resumed))
    const pooled: PooledLink = {
      key,
      ...place,
      sharing,
      link,
      opened: undefined,
      lease,
      uses: 0,
      callers: callersOn(relayed, sharing),
      isExclusive: false,
      idle: undefined,
    }
    this.#links.add(pooled)
    this.#room.add(pooled)
    link.then(
      (opened) => (pooled.opened = opened),
      () => this.#drop(pooled),
    )
    return pooled
  }

  #has(lease: CallerLease): boolean {
    return [...this.#links, ...this.#retired].some((pooled) => pooled.lease === lease)
  }

  /** Closes links whose lease another gateway has claimed, or may claim. */
  #follow(lease: CallerLease): void {
    const drop = (isOver: (pooled: PooledLink) => boolean): void => {
      for (const pooled of [...this.#links, ...this.#retired])
        if (pooled.lease === lease && isOver(pooled)) this.#drop(pooled, 'lost')
    }
    lease.use({ onLost: () => drop(() => true), onLapsed: () => drop(({ uses }) => uses > 0) })
  }

  #release(pooled: PooledLink): void {
    pooled.uses--
    if (pooled.uses === 0) pooled.isExclusive = false
    if (pooled.uses === 0 && this.#retired.has(pooled)) this.#drop(pooled)
    if (pooled.uses > 0 || !this.#links.has(pooled)) return this.#waiting.wakeAll()
    if (this.#isHandingOff && pooled.lease !== undefined) return this.#drop(pooled)
    this.#room.rest(pooled, this.#mayKeep && this.#isFirst(pooled))
    const { idleMs } = this.#options
    const why = `was closed after ${idleMs / 1000} seconds without a call ("idleSeconds")`
    pooled.idle = unref(setTimeout(() => this.#retire(pooled, why), idleMs))
    this.#waiting.wakeAll()
  }

  get #keeping(): Keeping {
    return this.#options.keeping?.() ?? 'nothing'
  }

  get #mayKeep(): boolean {
    return this.#keeping === 'unknown' || this.#keeping === 'state'
  }

  /**
   * Whether it is the link that the caller's next call takes, with the state that the server keeps for this caller.
   * Anonymous callers share a link, and do not know of that state.
   */
  #isFirst(pooled: PooledLink): boolean {
    const { sharing, callers, key } = pooled
    return sharing === 'caller' && callers !== 'nameless' && this.#links.ofKey(key)[0] === pooled
  }

  #evict(pooled: PooledLink): void {
    if (this.#keeping !== 'nothing' && this.#isFirst(pooled)) {
      this.#gone.add(pooled.key, 'was closed to make room ("maxProcesses", "maxSessions")')
      this.#options.onEvicted?.()
    }
    this.#drop(pooled)
  }

  async #retireBroken(pooled: PooledLink): Promise<void> {
    const link = await pooled.link.catch(() => undefined)
    if (link === undefined) this.#drop(pooled)
    else this.#isUsable(pooled)
  }

  #drop(pooled: PooledLink, leaving: Leaving = this.#isHandingOff && pooled.lease ? 'handed off' : 'ended'): void {
    clearTimeout(pooled.idle)
    const wasThere = this.#links.delete(pooled)
    this.#room.delete(pooled)
    if (!this.#retired.delete(pooled) && !wasThere) return
    this.#ending.end(pooled, leaving, (lease) => !this.#has(lease))
    this.#waiting.wakeAll()
  }

  /** `why`: the notice for the caller, if the link held state. */
  #retire(pooled: PooledLink, why?: string): void {
    if (why !== undefined && this.#keeping === 'state' && this.#isFirst(pooled)) this.#gone.add(pooled.key, why)
    if (pooled.uses === 0) return this.#drop(pooled)
    if (!this.#links.delete(pooled)) return
    this.#room.delete(pooled)
    this.#retired.add(pooled)
    this.#waiting.wakeAll()
  }
}
