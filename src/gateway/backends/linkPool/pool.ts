/**
 * The pool of links: which link serves which call. Calls share a link if the server is stateless and cannot ask; a call
 * that the server may ask about has a link for itself; for a stateful server each caller has its own link.
 *
 * The states of a link:
 *
 *     opening   its process starts, or its session begins. It is already taken and counts; if it fails, it is dropped.
 *     in use    calls are on it, or it is held for a task.
 *     idle      no call is on it. The next one takes it; it ends after `idleSeconds`, or is evicted for another link.
 *     retired   calls are still on it, and it takes no more: its server has closed it, or has forgotten its session.
 *               It ends after its last call, and no longer counts.
 *     ending    it is being closed, or left for another gateway. Its process counts until it has exited.
 */
import { unref } from '../../../protocol/index.ts'
import { fairShareOf, Quota } from '../../../state/quota/index.ts'
import { BackendError } from '../../errors.ts'
import { quotaCaller } from '../../links/callers.ts'
import type { Link } from '../../links/link.ts'
import type { Relayed } from '../../links/relayed.ts'
import type { CallerLease } from '../../placement/callerLease.ts'
import type { ServerLeases } from '../../placement/serverLeases.ts'
import { Waiters } from '../../waiting.ts'
import { EndingLinks, type Leaving } from './endingLinks.ts'
import { callersOn, type LinkUse, linkKey, mayJoin, needsOwnLink, type Sharing } from './sharing.ts'

export interface LinkPoolOptions {
  readonly server: string
  /** Maximum number of open links, beside the gateway's own. */
  readonly maxLinks: number
  /** Lifetime of an idle link: the setting `idleSeconds`. */
  readonly idleMs: number
  /** Maximum wait for a link. */
  readonly waitMs: number
  /** Opens a link for calls with this sharing. */
  readonly open: (relayed: Relayed, sharing: Sharing, lease?: CallerLease) => Promise<Link>
  /** Leases of callers, where gateways share a database. */
  readonly leases?: ServerLeases | undefined
  /** Evicts a parked call to free a link for this caller; returns false if none may be evicted. */
  readonly evictParked?: ((caller: string) => boolean) | undefined
}

/** A link beside the gateway's own, and its use. */
interface PooledLink extends LinkUse {
  /** The order in which links were opened. */
  readonly number: number
  readonly key: string
  /** The caller whose quota it counts in. */
  readonly caller: string
  readonly link: Promise<Link>
  /** The lease under which this gateway serves the caller. */
  readonly lease: CallerLease | undefined
  idle: ReturnType<typeof setTimeout> | undefined
}

/** Wait for a link before a parked call is evicted. Most calls finish sooner. */
const EVICT_AFTER_MS = 1000
/** Calls on each shared link before another one is opened. */
export const CALLS_AT_ONCE = 8

export class LinkPool {
  readonly #options: LinkPoolOptions
  readonly #links = new Set<PooledLink>()
  /** Calls that wait for a link. A free link wakes all of them: the first may have its share already. */
  readonly #waiting = new Waiters()
  /** Calls on links, by caller: a call that waits for a person keeps its link. */
  readonly #inUse = new Quota()
  /** Open links, by caller. Idle ones may be evicted. */
  readonly #quota = new Quota<PooledLink>({ evict: (pooled) => this.#drop(pooled) })
  /** Links that take no more calls, and close after their last. */
  readonly #retired = new Set<PooledLink>()
  readonly #ending: EndingLinks
  #opened = 0
  #isHandingOff = false

  constructor(options: LinkPoolOptions) {
    this.#options = options
    this.#ending = new EndingLinks(options.leases)
  }

  get size(): number {
    return this.#links.size
  }

  /**
   * Runs `use` with a link; opens one if none is free. `hold` keeps the link in use until the returned function is
   * called. `lease`: the lease under which this gateway serves the caller.
   */
  async with<T>(
    relayed: Relayed,
    sharing: Sharing,
    use: (link: Link, hold: () => () => void) => Promise<T>,
    lease?: CallerLease,
  ): Promise<T> {
    const caller = quotaCaller(relayed)
    const pooled = await this.#take(relayed, sharing, lease)
    this.#inUse.take(caller)
    try {
      const link = await pooled.link
      if (lease !== undefined) this.#options.leases?.assertOwn(lease)
      return await use(link, () => this.#hold(pooled))
    } catch (error) {
      // Late messages of the failed call must not reach the next one.
      if (sharing === 'call') this.#drop(pooled)
      else void this.#dropBroken(pooled)
      throw error
    } finally {
      this.#inUse.release(caller)
      if (pooled.callers === 'one') pooled.isExclusive = false // a link with other calls on it was not exclusive
      this.#release(pooled)
    }
  }

  #hold(pooled: PooledLink): () => void {
    let isHeld = true
    pooled.uses++
    this.#inUse.take(pooled.caller)
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#inUse.release(pooled.caller)
      this.#release(pooled)
    }
  }

  /** Retires the links of this call's key, so that the next call opens another. Calls in flight finish. */
  forget(relayed: Relayed, sharing: Sharing): void {
    const key = linkKey(relayed, sharing)
    for (const pooled of this.#links) if (pooled.key === key) this.#retire(pooled)
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
    const until = performance.now() + this.#options.waitMs
    let evicted = performance.now()
    for (;;) {
      const found = sharing === 'all' ? this.#takeShared(relayed) : this.#takeOwn(relayed, sharing, lease)
      if (found !== undefined) {
        found.uses++
        this.#quota.setEvictable(found, 'never')
        clearTimeout(found.idle)
        return found
      }
      const now = performance.now()
      if (now >= until) throw this.#full(relayed)
      if (now >= evicted + EVICT_AFTER_MS) {
        evicted = now
        if (this.#hasShare(relayed)) this.#options.evictParked?.(quotaCaller(relayed))
      }
      await this.#waiting.wait(Math.min(until, evicted + EVICT_AFTER_MS) - now)
    }
  }

  /** Whether this caller has fewer calls on links than its fair share. */
  #hasShare(relayed: Relayed): boolean {
    return this.#inUse.of(quotaCaller(relayed)).places < fairShareOf(this.#options.maxLinks)
  }

  #takeOwn(relayed: Relayed, sharing: Sharing, lease: CallerLease | undefined): PooledLink | undefined {
    const isExclusive = needsOwnLink(relayed, sharing)
    const hasShare = this.#hasShare(relayed)
    const key = linkKey(relayed, sharing)
    const found =
      (hasShare || !isExclusive ? this.#find(key, isExclusive, lease) : undefined) ??
      (hasShare ? this.#openAnother(key, relayed, sharing, lease) : undefined)
    if (found !== undefined && isExclusive) found.isExclusive = true
    return found
  }

  /** The link with the fewest calls; a new one if all are busy and the limit allows it. */
  #takeShared(relayed: Relayed): PooledLink | undefined {
    const key = linkKey(relayed, 'all')
    const usable = [...this.#links].filter((pooled) => pooled.key === key && this.#isUsable(pooled))
    const [least] = usable.toSorted((a, b) => a.uses - b.uses)
    const isFree = least !== undefined && least.uses < CALLS_AT_ONCE
    return isFree ? least : (this.#openAnother(key, relayed, 'all') ?? least)
  }

  /** The caller's first link, which has the server's state, before those opened while it was in use. */
  #find(key: string, isExclusive: boolean, lease: CallerLease | undefined): PooledLink | undefined {
    let first: PooledLink | undefined
    for (const pooled of this.#links) {
      if (pooled.key !== key || pooled.lease !== lease || !mayJoin(pooled, isExclusive)) continue
      if ((first === undefined || pooled.number < first.number) && this.#isUsable(pooled)) first = pooled
    }
    return first
  }

  /** Retires a link whose server has closed it while it was idle. */
  #isUsable(pooled: PooledLink): boolean {
    if (pooled.opened?.isClosed !== true) return true
    this.#retire(pooled)
    return false
  }

  /** Opens a link, evicting an idle one at the limit; undefined if all are in use. */
  #openAnother(key: string, relayed: Relayed, sharing: Sharing, lease?: CallerLease): PooledLink | undefined {
    if (this.#links.size >= this.#options.maxLinks && !this.#quota.evict('places')) return undefined
    // Only the first link of a caller has the session that gateways hand off.
    const resumed = lease !== undefined && !this.#has(lease) ? lease : undefined
    if (lease !== undefined) this.#follow(lease)
    const link = this.#ending
      .place(this.#options.maxLinks - this.#links.size)
      .then(() => this.#options.open(relayed, sharing, resumed))
    const pooled: PooledLink = {
      number: ++this.#opened,
      key,
      caller: quotaCaller(relayed),
      link,
      opened: undefined,
      lease,
      uses: 0,
      callers: callersOn(relayed, sharing),
      isExclusive: false,
      idle: undefined,
    }
    this.#links.add(pooled)
    this.#quota.put(pooled, { caller: pooled.caller, evictable: 'never' })
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
    this.#quota.setEvictable(pooled, 'always')
    pooled.idle = unref(setTimeout(() => this.#drop(pooled), this.#options.idleMs))
    this.#waiting.wakeAll()
  }

  async #dropBroken(pooled: PooledLink): Promise<void> {
    const link = await pooled.link.catch(() => undefined)
    if (link === undefined || link.isClosed) this.#drop(pooled)
  }

  #drop(pooled: PooledLink, leaving: Leaving = this.#isHandingOff && pooled.lease ? 'handed off' : 'ended'): void {
    clearTimeout(pooled.idle)
    const wasThere = this.#links.delete(pooled)
    this.#quota.delete(pooled)
    if (!this.#retired.delete(pooled) && !wasThere) return
    this.#ending.end(pooled, leaving, (lease) => !this.#has(lease))
    this.#waiting.wakeAll()
  }

  #retire(pooled: PooledLink): void {
    if (pooled.uses === 0) return this.#drop(pooled)
    if (!this.#links.delete(pooled)) return
    this.#quota.delete(pooled)
    this.#retired.add(pooled)
    this.#waiting.wakeAll()
  }

  /** The error of a call without a link: its caller has used its share, or all links are in use. */
  #full(relayed: Relayed): BackendError {
    const { server, maxLinks, waitMs } = this.#options
    const share = fairShareOf(maxLinks)
    const why =
      share < maxLinks && !this.#hasShare(relayed)
        ? ` for this caller: calls of one caller use at most ${share} of its ${maxLinks} processes or sessions, and none of them`
        : `: all of its ${maxLinks} processes or sessions are in use, and none`
    const sentence = `has no room${why} has become free within ${waitMs / 1000} seconds. Answer the calls that wait, try again later, or raise maxProcesses or maxSessions.`
    return new BackendError('BACKEND_BUSY', server, sentence)
  }
}
