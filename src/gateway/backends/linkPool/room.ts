/**
 * The quota of links to a server: their number, the number of each caller, and the idle link that is evicted next.
 *
 * - One caller, or all anonymous callers of one network, has at most half of the links.
 * - An idle link that may hold its caller's state is evicted only for the same caller, or, after a wait, for a caller
 *   with fewer links. A caller with one link keeps it.
 * - Of all other idle links, the largest caller loses the one that has been idle for longest.
 */
import { fairShareOf, Quota } from '../../../state/quota/index.ts'
import { BackendError } from '../../errors.ts'

/** Whether a caller's links hold state of the server: no, probably not, unknown, or yes. */
export type Keeping = 'nothing' | 'unlikely' | 'unknown' | 'state'

export interface LinkRoomOptions<T> {
  readonly server: string
  readonly maxLinks: number
  readonly idleMs: number
  readonly waitMs: number
  /** Closes an idle link to make room. */
  readonly evict: (link: T) => void
}

/** The owner and the quota of a link. */
export interface PlacedLink {
  /** The caller whose quota it counts in. */
  readonly caller: string
  /** The only caller that may use it. */
  readonly owner: string
}

export class LinkRoom<T extends PlacedLink> {
  readonly #options: LinkRoomOptions<T>
  readonly #share: number
  /** Calls on links, by caller: a call that waits for a person keeps its link. */
  readonly #inUse = new Quota()
  /** Open links, by caller. */
  readonly #quota: Quota<T>
  /** Idle links, longest idle first, and whether each holds state. */
  readonly #idle = new Map<T, boolean>()

  constructor(options: LinkRoomOptions<T>) {
    this.#options = options
    this.#share = fairShareOf(options.maxLinks)
    this.#quota = new Quota({ evict: options.evict })
  }

  /** Counts a call on a link. */
  begin(caller: string): void {
    this.#inUse.take(caller)
  }

  end(caller: string): void {
    this.#inUse.release(caller)
  }

  /** Whether this caller has fewer calls on links than its share. */
  hasShare(caller: string): boolean {
    return this.#inUse.of(caller).places < this.#share
  }

  /**
   * Whether a link may be opened. Evicts an idle one for it where necessary. `isKept`: it will be kept when it is idle.
   * `hasWaited`: its call has waited for others to end.
   */
  makeFor(newcomer: PlacedLink, isKept: boolean, hasWaited: boolean): boolean {
    const { places } = this.#quota.of(newcomer.caller)
    const hasShare = isKept && places >= this.#share
    if (!hasShare && this.#quota.all.places < this.#options.maxLinks) return true
    for (const [link, holdsState] of this.#idle) {
      if (holdsState ? link.owner !== newcomer.owner : link.caller !== newcomer.caller) continue
      this.#options.evict(link)
      return true
    }
    if (hasShare) return false
    if (this.#quota.evict('places')) return true
    return hasWaited && this.#evictLarger(places + 1)
  }

  /** Evicts the longest idle link of the largest caller, if that one has more than `places`. */
  #evictLarger(places: number): boolean {
    const sizeOf = ({ caller }: T): number => this.#quota.of(caller).places
    const [largest] = [...this.#idle.keys()].toSorted((a, b) => sizeOf(b) - sizeOf(a))
    if (largest === undefined || sizeOf(largest) <= places) return false
    this.#options.evict(largest)
    return true
  }

  add(link: T): void {
    this.#quota.put(link, { caller: link.caller, evictable: 'never' })
  }

  use(link: T): void {
    this.#idle.delete(link)
    this.#quota.setEvictable(link, 'never')
  }

  rest(link: T, isKept: boolean): void {
    this.#idle.set(link, isKept)
    if (!isKept) this.#quota.setEvictable(link, 'always')
  }

  delete(link: T): void {
    this.#idle.delete(link)
    this.#quota.delete(link)
  }

  /** The error for a call that got no link. */
  full(caller: string): BackendError {
    const { server, maxLinks, waitMs, idleMs } = this.#options
    const share = this.#share
    const hasAll = !this.hasShare(caller) || this.#quota.of(caller).places >= share
    const isKept = [...this.#idle.values()].includes(true)
    const state = isKept ? `in use or kept for callers of the last ${idleMs / 1000} seconds` : 'in use'
    const why =
      share < maxLinks && hasAll
        ? ` for this caller: one caller, or all callers of one address without a name, have at most ${share} of its ${maxLinks} processes or sessions. These are ${state}`
        : `: all of its ${maxLinks} processes or sessions are ${state}`
    const sentence = `has no room${why}, and none has become free within ${waitMs / 1000} seconds. ${isKept ? KEPT_ADVICE : ADVICE}`
    return new BackendError('BACKEND_BUSY', server, sentence)
  }
}

const ADVICE = 'Answer the calls that wait, try again later, or raise maxProcesses or maxSessions.'
const KEPT_ADVICE =
  'Try again later; or raise maxProcesses or maxSessions, lower idleSeconds, or set "state": "stateless" if the server keeps nothing between calls.'
