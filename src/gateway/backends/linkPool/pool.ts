/**
 * Which link serves which call. Calls share a link where the server keeps nothing and cannot ask; a call that the server
 * may ask about has a link for itself; and where the server keeps something, each caller has a link of their own.
 *
 * The states of a link:
 *
 *     opening   its process starts, or its session begins. It is taken already, and counts; where it fails, it is dropped.
 *     in use    calls are on it, or it is held for a task.
 *     idle      no call is on it. The next one takes it; after `idleSeconds`, or where another link needs the room, it ends.
 *     retired   calls are still on it, and no other may take it: its server has closed it, or has forgotten its session.
 *               It ends after its last call, and does not count any more.
 *     ending    it is being closed, or left for another gateway. Its process counts until it has ended, where room is short.
 */
import { unref } from '../../../protocol/index.ts'
import { BackendError } from '../../errors.ts'
import type { CallerLease, ServerLeases } from '../../leases/serverLeases.ts'
import type { Link } from '../../links/link.ts'
import type { Relayed } from '../../links/relayed.ts'
import { holderOf } from '../callers.ts'
import { EndingLinks, type Leaving } from './endingLinks.ts'
import { fairShareOf, CallerCounts } from '../callerCounts.ts'
import { callersOn, type LinkUse, linkKey, mayJoin, needsOwnLink, type Sharing } from './sharing.ts'
import { PoolQueue } from './queue.ts'

export interface LinkPoolOptions {
  readonly server: string
  /** How many links may be open, beside the shared one. */
  readonly maxLinks: number
  /** How long a link stays open that nobody uses: the setting `idleSeconds`. */
  readonly idleMs: number
  /** How long a call waits for a link. */
  readonly waitMs: number
  /** Opens a link for calls that share it so. */
  readonly open: (relayed: Relayed, sharing: Sharing, lease?: CallerLease) => Promise<Link>
  /** Where gateways look up who of them serves a caller. */
  readonly leases?: ServerLeases | undefined
  /** Ends a call that waits for an answer, for a call of this caller; false where there is none that may be ended for it. */
  readonly relieve?: ((caller: string) => boolean) | undefined
}

/** A link beside the gateway's own, and who uses it. */
interface PooledLink extends LinkUse {
  /** Links are counted as they are opened. */
  readonly number: number
  readonly key: string
  /** Whose link it counts as. */
  readonly holder: string
  readonly link: Promise<Link>
  /** What lets this gateway serve the caller. */
  readonly lease: CallerLease | undefined
  idle: ReturnType<typeof setTimeout> | undefined
}

/** After so long without a free link, a call that waits for an answer is ended. Most others take less time. */
const RELIEVED_AFTER_MS = 1000
/** With so many calls on each link, another one is opened. */
export const CALLS_AT_ONCE = 8

export class LinkPool {
  readonly #options: LinkPoolOptions
  readonly #links = new Set<PooledLink>()
  readonly #waiting = new PoolQueue()
  /** A call that waits for a person keeps its link, and one caller may have many such calls. */
  readonly #inUse = new CallerCounts()
  /** Links that no other call may use, and that are closed after their last. */
  readonly #retired = new Set<PooledLink>()
  readonly #ending: EndingLinks
  #opened = 0
  #isHandingOn = false

  constructor(options: LinkPoolOptions) {
    this.#options = options
    this.#ending = new EndingLinks(options.leases)
  }

  get size(): number {
    return this.#links.size
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
    const pooled = await this.#take(relayed, sharing, lease)
    this.#inUse.add(holder)
    try {
      const link = await pooled.link
      if (lease !== undefined) this.#options.leases?.assertOwn(lease)
      return await use(link, () => this.#hold(pooled))
    } catch (error) {
      // What the server still does for this call must not reach the next one.
      if (sharing === 'call') this.#drop(pooled)
      else void this.#dropBroken(pooled)
      throw error
    } finally {
      this.#inUse.remove(holder)
      if (pooled.callers === 'one') pooled.isExclusive = false // where others are on it as well, it was not
      this.#release(pooled)
    }
  }

  #hold(pooled: PooledLink): () => void {
    let isHeld = true
    pooled.uses++
    this.#inUse.add(pooled.holder)
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#inUse.remove(pooled.holder)
      this.#release(pooled)
    }
  }

  /** Gives up the links of such a call, so that the next one opens another. Calls that are under way there go on. */
  forget(relayed: Relayed, sharing: Sharing): void {
    const key = linkKey(relayed, sharing)
    for (const pooled of this.#links) if (pooled.key === key) this.#retire(pooled)
  }

  /** From now on, other gateways may go on with what nobody uses here. */
  handOn(): void {
    this.#isHandingOn = true
    for (const pooled of this.#links) if (pooled.uses === 0 && pooled.lease !== undefined) this.#drop(pooled)
  }

  async close(): Promise<void> {
    for (const pooled of this.#links) this.#drop(pooled)
    for (const pooled of this.#retired) this.#drop(pooled)
    await this.#ending.all()
  }

  async #take(relayed: Relayed, sharing: Sharing, lease: CallerLease | undefined): Promise<PooledLink> {
    const until = performance.now() + this.#options.waitMs
    let relieved = performance.now()
    for (;;) {
      const found = sharing === 'all' ? this.#takeShared(relayed) : this.#takeOwn(relayed, sharing, lease)
      if (found !== undefined) {
        found.uses++
        clearTimeout(found.idle)
        return found
      }
      const now = performance.now()
      if (now >= until) throw this.#full(relayed)
      if (now >= relieved + RELIEVED_AFTER_MS) {
        relieved = now
        if (this.#hasShare(relayed)) this.#options.relieve?.(holderOf(relayed))
      }
      await this.#waiting.wait(Math.min(until, relieved + RELIEVED_AFTER_MS) - now)
    }
  }

  /** Whether this caller has less in use than one may have. */
  #hasShare(relayed: Relayed): boolean {
    return this.#inUse.of(holderOf(relayed)) < fairShareOf(this.#options.maxLinks)
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

  /** The link with the fewest calls, unless all have many and there is room for another. */
  #takeShared(relayed: Relayed): PooledLink | undefined {
    const key = linkKey(relayed, 'all')
    const usable = [...this.#links].filter((pooled) => pooled.key === key && this.#isUsable(pooled))
    const [least] = usable.toSorted((a, b) => a.uses - b.uses)
    const isFree = least !== undefined && least.uses < CALLS_AT_ONCE
    return isFree ? least : (this.#openAnother(key, relayed, 'all') ?? least)
  }

  /** The first link of a caller, which has what the server keeps, before those that were opened while it was in use. */
  #find(key: string, isExclusive: boolean, lease: CallerLease | undefined): PooledLink | undefined {
    let first: PooledLink | undefined
    for (const pooled of this.#links) {
      if (pooled.key !== key || pooled.lease !== lease || !mayJoin(pooled, isExclusive)) continue
      if ((first === undefined || pooled.number < first.number) && this.#isUsable(pooled)) first = pooled
    }
    return first
  }

  /** A server may end while nobody uses its link. A call that has not begun gets another one. */
  #isUsable(pooled: PooledLink): boolean {
    if (pooled.opened?.isClosed !== true) return true
    this.#retire(pooled)
    return false
  }

  /** Makes room by closing a link that nobody uses; undefined where all are in use. */
  #openAnother(key: string, relayed: Relayed, sharing: Sharing, lease?: CallerLease): PooledLink | undefined {
    if (this.#links.size >= this.#options.maxLinks) {
      const unused = this.#mostDispensable()
      if (unused === undefined) return undefined
      this.#drop(unused)
    }
    // Only the first link of a caller has the session that gateways hand on.
    const resumed = lease !== undefined && !this.#has(lease) ? lease : undefined
    if (lease !== undefined) this.#follow(lease)
    const link = this.#ending
      .room(this.#options.maxLinks - this.#links.size)
      .then(() => this.#options.open(relayed, sharing, resumed))
    const pooled: PooledLink = {
      number: ++this.#opened,
      key,
      holder: holderOf(relayed),
      link,
      opened: undefined,
      lease,
      uses: 0,
      callers: callersOn(relayed, sharing),
      isExclusive: false,
      idle: undefined,
    }
    this.#links.add(pooled)
    link.then(
      (opened) => (pooled.opened = opened),
      () => this.#drop(pooled),
    )
    return pooled
  }

  #has(lease: CallerLease): boolean {
    return [...this.#links, ...this.#retired].some((pooled) => pooled.lease === lease)
  }

  /** What another gateway has taken, or may take while it is used here, is closed here. */
  #follow(lease: CallerLease): void {
    const drop = (isOver: (pooled: PooledLink) => boolean): void => {
      for (const pooled of [...this.#links, ...this.#retired])
        if (pooled.lease === lease && isOver(pooled)) this.#drop(pooled, 'lost')
    }
    lease.isUsed = true
    lease.onLost = () => drop(() => true)
    lease.onLapsed = () => drop(({ uses }) => uses > 0)
  }

  /** Of those who hold the most links, the link that nobody has used for longest. */
  #mostDispensable(): PooledLink | undefined {
    const held = new CallerCounts()
    for (const { holder } of this.#links) held.add(holder)
    const unused = [...this.#links].filter(({ uses }) => uses === 0)
    return unused.toSorted((a, b) => held.of(b.holder) - held.of(a.holder))[0]
  }

  #release(pooled: PooledLink): void {
    pooled.uses--
    if (pooled.uses === 0) pooled.isExclusive = false
    if (pooled.uses === 0 && this.#retired.has(pooled)) this.#drop(pooled)
    if (pooled.uses > 0 || !this.#links.has(pooled)) return this.#waiting.wakeAll()
    if (this.#isHandingOn && pooled.lease !== undefined) return this.#drop(pooled)
    // Last used, last in order: what is closed first is what nobody has used for longest.
    this.#links.delete(pooled)
    this.#links.add(pooled)
    // The setting `idleSeconds`.
    pooled.idle = unref(setTimeout(() => this.#drop(pooled), this.#options.idleMs))
    this.#waiting.wakeAll()
  }

  async #dropBroken(pooled: PooledLink): Promise<void> {
    const link = await pooled.link.catch(() => undefined)
    if (link === undefined || link.isClosed) this.#drop(pooled)
  }

  #drop(pooled: PooledLink, leaving: Leaving = this.#isHandingOn && pooled.lease ? 'handed on' : 'ended'): void {
    clearTimeout(pooled.idle)
    const wasThere = this.#links.delete(pooled)
    if (!this.#retired.delete(pooled) && !wasThere) return
    this.#ending.end(pooled, leaving, (lease) => !this.#has(lease))
    this.#waiting.wakeAll()
  }

  #retire(pooled: PooledLink): void {
    if (pooled.uses === 0) return this.#drop(pooled)
    if (!this.#links.delete(pooled)) return
    this.#retired.add(pooled)
    this.#waiting.wakeAll()
  }

  /** Why a call found no link: the caller has as many as one may have, or all are in use. */
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
