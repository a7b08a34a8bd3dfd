/**
 * List results, serialized once and cached as text until the registry changes. With rules or needs, each distinct set of visible entries is serialized once.
 */
import { type Json, META, ProtocolError, setNewest } from '../../protocol/index.ts'
import { isAllowed } from './access.ts'
import type { TaskOptions } from './definitions.ts'
import type { Guarded } from './entries.ts'
import type { Call } from '../call.ts'
import { type Need, unmetNeed } from '../handler/askable.ts'
import { errorDetails, type Logger } from '../logger.ts'
import type { Caching, ServerIdentity } from '../options.ts'
import { type Entries, type ListName, Registry } from './registry.ts'

export type Listing = 'tools' | 'prompts' | 'resources' | 'resourceTemplates'

interface Listed extends Guarded {
  readonly listed: Json
  readonly task?: TaskOptions | undefined
  readonly needs?: readonly Need[]
}

type ListCaller = Pick<Call, 'principal' | 'peer'>

interface Written {
  readonly modern: string
  readonly legacy: string
}

interface KnownList {
  readonly entries: readonly Listed[]
  /** Entries that not everyone sees. */
  readonly guarded: readonly Listed[]
  /** The cache key: for each entry with a rule whether this caller sees it, and the `_meta`. */
  readonly written: Map<string, readonly Written[]>
}

interface ListedWith {
  readonly caching: Required<Caching>
  readonly meta: Json | undefined
}

/** The default number of entries on a page. */
const PAGE_SIZE = 1000
// A server has few kinds of callers. Should it have more, the oldest set is written again when it is needed.
const MAX_SETS = 64
const NONE: ReadonlySet<Listed> = new Set()

/** How an entry is listed in the session era. */
export type LegacyListed = (entry: Listed, callsWait: boolean) => Json

interface ListsOptions {
  readonly registry: Registry
  readonly identity: ServerIdentity
  readonly caching: Required<Caching>
  /** The caching hints of servers behind this one for a list, as they are at the moment. @default none */
  readonly cachingBehind?: ((listing: Listing) => Required<Caching> | undefined) | undefined
  readonly pageSize: number | undefined
  /** Whether calls can wait elsewhere, so that no tool needs a client that knows tasks. */
  readonly callsWait: () => boolean
  /** An entry as the session era lists it; absent where only the stateless era is served. */
  readonly legacyListed?: LegacyListed
  /** Whether clients see tools that need what they do not declare. */
  readonly listUncallable: boolean
  readonly logger: () => Logger
  /** More for the `_meta` of each list, as it is at the moment. @default nothing */
  readonly meta?: (() => Json | undefined) | undefined
}

export class Lists {
  readonly #options: ListsOptions
  readonly #known = new Map<Listing, KnownList>()

  constructor(options: ListsOptions) {
    this.#options = options
  }

  forget(list: ListName): void {
    this.#known.delete(list)
    if (list === 'resources') this.#known.delete('resourceTemplates')
  }

  /** Lists of other entries, which are one caller's own. */
  ofCaller(entries: Entries): Lists {
    const registry = new Registry()
    registry.replace(entries, [])
    const caching = { ...this.#options.caching, cacheScope: 'private' as const }
    return new Lists({ ...this.#options, registry, caching })
  }

  /** One page of what the principal may see, as the text of its result. */
  page(listing: Listing, cursor: unknown, caller: ListCaller): string {
    const page = this.#pages(listing, caller)[pageOf(listing, cursor)]
    if (page === undefined)
      throw new ProtocolError('PARAMS_INVALID', 'The cursor is not valid for this list; list again without it.')
    return page[caller.peer.era]
  }

  #pages(listing: Listing, caller: ListCaller): readonly Written[] {
    const list = this.#known.get(listing) ?? this.#collect(listing)
    const hidden = list.guarded.length === 0 ? NONE : this.#hiddenFrom(caller, listing, list)
    const meta = this.#options.meta?.()
    const behind = this.#options.cachingBehind?.(listing)
    const seen = list.guarded.map((entry) => (hidden.has(entry) ? '0' : '1')).join('')
    const set = meta === undefined && behind === undefined ? seen : seen + JSON.stringify([meta, behind])
    const known = list.written.get(set)
    if (known !== undefined) return known
    const { pageSize = PAGE_SIZE } = this.#options
    const visible = list.entries.filter((entry) => !hidden.has(entry))
    const caching = this.#cachingOf(list, behind)
    const pages = chunked(visible, pageSize).map((entries, index, all) => {
      const nextCursor = index + 1 < all.length ? cursorOf(listing, index + 1) : undefined
      return this.#write(listing, entries, { ...(nextCursor !== undefined && { nextCursor }) }, { caching, meta })
    })
    setNewest(list.written, set, pages, MAX_SETS)
    return pages
  }

  /**
   * The time comes from the servers behind, if there are any. A list is private if a server behind, or this one, calls
   * it private.
   */
  #cachingOf({ guarded }: KnownList, behind: Required<Caching> | undefined): Required<Caching> {
    const { caching } = this.#options
    const isPrivate = guarded.length > 0 || caching.cacheScope === 'private' || behind?.cacheScope === 'private'
    return { ttlMs: behind?.ttlMs ?? caching.ttlMs, cacheScope: isPrivate ? 'private' : 'public' }
  }

  /** A rule that fails hides its own entry, and no others. */
  #hiddenFrom(caller: ListCaller, listing: Listing, { guarded }: KnownList): Set<Listed> {
    const { callsWait, listUncallable } = this.#options
    const sees = ({ access, listed, needs = [] }: Listed): boolean => {
      try {
        return isAllowed(access, caller.principal) && (listUncallable || !unmetNeed(needs, caller, callsWait()))
      } catch (error) {
        const details = { list: listing, entry: listed['name'], err: errorDetails(error) }
        this.#options.logger().error(details, 'An allow rule failed, so its entry is not listed.')
        return false
      }
    }
    return new Set(guarded.filter((entry) => !sees(entry)))
  }

  #collect(listing: Listing): KnownList {
    const { registry, listUncallable } = this.#options
    const found: ReadonlyMap<string, Listed> = listing === 'resourceTemplates' ? registry.templates : registry[listing]
    const entries = [...found.values()]
    const guarded = entries.filter(({ access, needs }) => access !== undefined || (!listUncallable && needs?.length))
    const list = { entries, guarded, written: new Map() }
    this.#known.set(listing, list)
    return list
  }

  #write(listing: Listing, entries: readonly Listed[], more: Json, { caching, meta }: ListedWith): Written {
    const { identity, callsWait, legacyListed } = this.#options
    const modern = {
      resultType: 'complete',
      [listing]: entries.map(({ listed }) => listed),
      ...more,
      ...caching,
      _meta: { [META.server]: identity, ...meta },
    }
    const legacy = {
      resultType: 'complete',
      [listing]: entries.map((entry) => legacyListed?.(entry, callsWait())),
      ...more,
      ...(meta && { _meta: meta }),
    }
    return { modern: JSON.stringify(modern), legacy: JSON.stringify(legacy) }
  }
}

function chunked<T>(items: readonly T[], size: number): T[][] {
  const pages: T[][] = []
  for (let start = 0; start < items.length; start += size) pages.push(items.slice(start, start + size))
  return pages.length === 0 ? [[]] : pages
}

/** A cursor is the name of its list and a page number, so that the cursor of another list is recognized. */
function cursorOf(listing: Listing, page: number): string {
  return `${listing}-${page}`
}

function pageOf(listing: Listing, cursor: unknown): number {
  if (cursor === undefined || cursor === '') return 0 // some clients send an empty cursor for the first page
  const [, name, page] = (typeof cursor === 'string' && /^(\w+)-([1-9]\d{0,8})$/.exec(cursor)) || []
  return name === listing ? Number(page) : -1
}
