/** List results, serialized once and cached as text until the registry changes. */
import { type Json, META, ProtocolError } from '../../protocol/index.ts'
import type { TaskOptions } from './definitions.ts'
import type { Caching, ServerIdentity } from '../options.ts'
import type { ListName, Registry } from './registry.ts'

export type Listing = 'tools' | 'prompts' | 'resources' | 'resourceTemplates'

interface Listed {
  readonly listed: Json
  readonly task?: TaskOptions | undefined
}

interface Written {
  readonly modern: string
  readonly legacy: string
}

export class Lists {
  readonly #registry: Registry
  readonly #identity: ServerIdentity
  readonly #caching: Required<Caching>
  readonly #pageSize: number
  readonly #written = new Map<Listing, readonly Written[]>()

  constructor(registry: Registry, identity: ServerIdentity, caching: Required<Caching>, pageSize: number) {
    this.#registry = registry
    this.#identity = identity
    this.#caching = caching
    this.#pageSize = pageSize
  }

  forget(list: ListName): void {
    this.#written.delete(list)
    if (list === 'resources') this.#written.delete('resourceTemplates')
  }

  /** One page of a list, as the text of its result. */
  page(listing: Listing, cursor: unknown, era: 'modern' | 'legacy'): string {
    const page = this.#pages(listing)[pageOf(cursor)]
    if (page === undefined)
      throw new ProtocolError('PARAMS_INVALID', 'The cursor is not valid for this list; list again without it.')
    return page[era]
  }

  #pages(listing: Listing): readonly Written[] {
    const known = this.#written.get(listing)
    if (known !== undefined) return known
    const pages = chunked(this.#entries(listing), this.#pageSize).map((entries, index, all) => {
      const nextCursor = index + 1 < all.length ? cursorOf(index + 1) : undefined
      return this.#write(listing, entries, nextCursor === undefined ? {} : { nextCursor })
    })
    this.#written.set(listing, pages)
    return pages
  }

  #write(listing: Listing, entries: readonly Listed[], more: Json): Written {
    const { ttlMs, cacheScope } = this.#caching
    const modern = {
      resultType: 'complete',
      [listing]: entries.map(({ listed }) => listed),
      ...more,
      ttlMs,
      cacheScope,
      _meta: { [META.server]: this.#identity },
    }
    const legacy = { resultType: 'complete', [listing]: entries.map(legacyListed), ...more }
    return { modern: JSON.stringify(modern), legacy: JSON.stringify(legacy) }
  }

  #entries(listing: Listing): readonly Listed[] {
    const entries: ReadonlyMap<string, Listed> =
      listing === 'resourceTemplates' ? this.#registry.templates : this.#registry[listing]
    return [...entries.values()]
  }
}

/** Revision 2025-11-25 lists with each tool whether it runs as a task; 2026-07-28 does not. */
function legacyListed({ listed, task }: Listed): Json {
  return task?.task === undefined ? listed : { ...listed, execution: { taskSupport: task.task } }
}

function chunked<T>(items: readonly T[], size: number): T[][] {
  const pages: T[][] = []
  for (let start = 0; start < items.length; start += size) pages.push(items.slice(start, start + size))
  return pages.length === 0 ? [[]] : pages
}

/** A cursor is a prefix and a page number; the prefix lets an invalid cursor be recognized. */
function cursorOf(page: number): string {
  return `page-${page}`
}

function pageOf(cursor: unknown): number {
  if (cursor === undefined) return 0
  const found = typeof cursor === 'string' ? /^page-([1-9]\d{0,8})$/.exec(cursor) : null
  return found === null ? -1 : Number(found[1])
}
