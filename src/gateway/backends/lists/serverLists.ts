/** The complete lists of a server, unchanged. */
import { createHash } from 'node:crypto'
import { CODES, isObject, type Json, MAX_NAME_CHARS, MAX_URI_CHARS, RemoteError } from '../../../protocol/index.ts'
import type { Caching } from '../../../server/internal.ts'
import { filterTools, type ToolFilter } from '../../catalog/index.ts'
import { cancelledBy, type Link, ownRequest } from '../../links/link.ts'
import { EVERY_QUESTION, type Relayed } from '../../links/relayed.ts'

export const LISTS = ['tools', 'prompts', 'resources', 'resourceTemplates'] as const

export type ServerListName = (typeof LISTS)[number]

export type ServerLists = Readonly<Record<ServerListName, readonly Json[]>>

export const NO_LISTS: ServerLists = { tools: [], prompts: [], resources: [], resourceTemplates: [] }

const STALE: ListCaching = { ttlMs: 0, cacheScope: 'public' }

export const NO_CACHING: ListsCaching = { tools: STALE, prompts: STALE, resources: STALE, resourceTemplates: STALE }

interface ListMethod {
  readonly method: string
  /** The capability without which a server has no such list. */
  readonly capability: string
  /** The member that identifies an entry. */
  readonly key: string
}

const LISTINGS: Readonly<Record<ServerListName, ListMethod>> = {
  tools: { method: 'tools/list', capability: 'tools', key: 'name' },
  prompts: { method: 'prompts/list', capability: 'prompts', key: 'name' },
  resources: { method: 'resources/list', capability: 'resources', key: 'uri' },
  resourceTemplates: { method: 'resources/templates/list', capability: 'resources', key: 'uriTemplate' },
}

/** Far more than any server has; entries beyond are left out. `bytes` and `readChars` apply to all lists together. */
const LIMITS = { pages: 1000, entries: 20_000, bytes: 4 * 1024 * 1024, readChars: 16 * 1024 * 1024 }
/** A lower limit for tools, because each read compares their definitions part by part. */
const MAX_TOOLS = 5000

/** The caching hints of a list: the strictest of its pages. Without hints it is stale at once, and public. */
export type ListCaching = Required<Caching>

export type ListsCaching = Readonly<Record<ServerListName, ListCaching>>

export interface ReadLists {
  readonly lists: ServerLists
  readonly caching: ListsCaching
  /** The patterns of the server's entry that match none of its tools. */
  readonly unmatched: ToolFilter
  /** The server's ttl for its lists; undefined if it gives none. SDKs give 0 by default. */
  readonly ttlMs: number | undefined
  /** Whether a limit cut something off. */
  readonly isCut: boolean
  /** The number of entries left out because their names or addresses are too long. */
  readonly tooLong: number
  /** The size of all lists together. */
  readonly bytes: number
  /** Equal for equal lists. */
  readonly digest: string
}

/** The link that lists are read on. */
export type ListingLink = Pick<Link, 'about' | 'request'>

/** Reads all lists, without the tools that the server's entry denies. `signal` aborts it. */
export async function readLists(link: ListingLink, filter: ToolFilter, signal: AbortSignal): Promise<ReadLists> {
  const reading = new ListReading(link, signal)
  const read = await Promise.all(LISTS.map(async (list) => [list, await reading.list(list)] as const))
  const { caching, ttlMs, isCut, tooLong, bytes } = reading
  const all: ServerLists = { ...NO_LISTS, ...Object.fromEntries(read) }
  const { passing: tools, unmatched } = await filterTools(all.tools, filter)
  return { lists: { ...all, tools }, caching, unmatched, ttlMs, isCut, tooLong, bytes, digest: reading.digest() }
}

class ListReading {
  caching = NO_CACHING
  ttlMs: number | undefined
  isCut = false
  tooLong = 0
  bytes = 0
  readonly #link: ListingLink
  readonly #signal: AbortSignal
  readonly #hashes = new Map(LISTS.map((list) => [list, createHash('sha256')]))
  /** The characters of all pages, including entries that are left out. */
  #readChars = 0

  constructor(link: ListingLink, signal: AbortSignal) {
    this.#link = link
    this.#signal = signal
  }

  /** The digest of the lists, after they have been read completely. */
  digest(): string {
    return Array.from(this.#hashes.values(), (hash) => hash.digest('base64url')).join(' ')
  }

  /** Reads one list. Leaves out duplicates, and entries whose name is missing or cannot be called. */
  async list(list: ServerListName): Promise<readonly Json[]> {
    const { method, capability, key } = LISTINGS[list]
    if (!isObject(this.#link.about.capabilities[capability])) return []
    const entries = new Map<string, Json>()
    let cursor: string | undefined
    for (let page = 0; page < LIMITS.pages; page++) {
      const result = await this.#page(method, cursor)
      const items: readonly unknown[] = Array.isArray(result[list]) ? result[list] : []
      for (const item of items) {
        const name = isObject(item) ? item[key] : undefined
        if (!isObject(item) || typeof name !== 'string' || !this.#fits(key, name) || entries.has(name)) continue
        if (!this.#hasRoom(list, entries.size, item)) return [...entries.values()]
        entries.set(name, item)
      }
      this.#note(list, page, result)
      const { nextCursor } = result
      if (typeof nextCursor !== 'string' || nextCursor === '' || nextCursor === cursor) return [...entries.values()]
      cursor = nextCursor
      this.#readChars += charsIn(result)
      if (this.#readChars > LIMITS.readChars) break
    }
    this.isCut = true
    return [...entries.values()]
  }

  #fits(key: string, name: string): boolean {
    const fits = name.length <= (key === 'name' ? MAX_NAME_CHARS : MAX_URI_CHARS)
    if (!fits) this.tooLong++
    return fits
  }

  #hasRoom(list: ServerListName, entries: number, item: Json): boolean {
    const text = JSON.stringify(item)
    this.#hashes.get(list)?.update(text)
    this.bytes += text.length
    const hasRoom = entries < (list === 'tools' ? MAX_TOOLS : LIMITS.entries) && this.bytes <= LIMITS.bytes
    if (!hasRoom) this.isCut = true
    return hasRoom
  }

  /** The shortest ttl counts, because all lists are refreshed together. */
  #note(list: ServerListName, page: number, result: Json): void {
    const { ttlMs } = result
    const hints = hintsIn(result)
    this.caching = { ...this.caching, [list]: page === 0 ? hints : strictest([this.caching[list], hints]) }
    if (typeof ttlMs === 'number' && ttlMs > 0) this.ttlMs = Math.min(ttlMs, this.ttlMs ?? ttlMs)
  }

  /**
   * Reads a page; an unknown method is an empty list. Many servers declare resources and have no templates, and some
   * declare capabilities that they do not have.
   */
  async #page(method: string, cursor: string | undefined): Promise<Json> {
    const params = cursor === undefined ? {} : { cursor }
    try {
      return await this.#link.request(listRequest(method, params, cancelledBy(this.#signal)))
    } catch (error) {
      if ((error as { code?: unknown }).code === CODES.METHOD_NOT_FOUND) return {}
      throw error
    }
  }
}

function hintsIn({ ttlMs, cacheScope }: Json): ListCaching {
  const isTime = typeof ttlMs === 'number' && ttlMs > 0
  return { ttlMs: isTime ? Math.floor(ttlMs) : 0, cacheScope: cacheScope === 'private' ? 'private' : 'public' }
}

/** The hints for lists that are served as one. */
export function strictest(hints: readonly ListCaching[]): ListCaching {
  return {
    ttlMs: Math.min(...hints.map(({ ttlMs }) => ttlMs)),
    cacheScope: hints.some(({ cacheScope }) => cacheScope === 'private') ? 'private' : 'public',
  }
}

/** The size of a value beside its text. */
const CHARS_EACH = 32

function charsIn(value: unknown): number {
  const { chars, values } = sizeOf(value)
  return chars + values * CHARS_EACH
}

/**
 * The characters of all strings and names of a value, and the number of values. The time it takes does not depend on
 * the length of texts.
 */
export function sizeOf(value: unknown): { readonly chars: number; readonly values: number } {
  const open: unknown[] = [value]
  let [chars, values] = [0, 0]
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    values++
    if (typeof each === 'string') chars += each.length
    else if (Array.isArray(each)) for (const item of each) open.push(item)
    else if (isObject(each))
      for (const [name, member] of Object.entries(each)) {
        chars += name.length
        open.push(member)
      }
  }
  return { chars, values }
}

/**
 * A list request that declares all questions, because some servers list more to clients that can be asked; it refuses
 * each question.
 */
function listRequest(method: string, params: Json, onCancel: Relayed['onCancel']): Relayed {
  const request = ownRequest(method, params, { onCancel })
  const ask = (): Promise<Json> => Promise.reject(new RemoteError(CODES.INVALID_REQUEST, 'Nobody can be asked.'))
  return { ...request, peer: { ...request.peer, capabilities: EVERY_QUESTION }, ask }
}
