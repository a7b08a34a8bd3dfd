/** The lists of a server, whole, as it gave them. */
import { CODES, isObject, type Json, RemoteError } from '../../../protocol/index.ts'
import { type Link, ownRequest } from '../../links/link.ts'
import { EVERY_QUESTION, type Relayed } from '../../links/relayed.ts'

export const LISTS = ['tools', 'prompts', 'resources', 'resourceTemplates'] as const

export type ServerListName = (typeof LISTS)[number]

export type ServerLists = Readonly<Record<ServerListName, readonly Json[]>>

export const NO_LISTS: ServerLists = { tools: [], prompts: [], resources: [], resourceTemplates: [] }

interface ListMethod {
  readonly method: string
  /** The capability without which a server has no such list. */
  readonly capability: string
  /** The member by which an entry is known. */
  readonly key: string
}

const LISTINGS: Readonly<Record<ServerListName, ListMethod>> = {
  tools: { method: 'tools/list', capability: 'tools', key: 'name' },
  prompts: { method: 'prompts/list', capability: 'prompts', key: 'name' },
  resources: { method: 'resources/list', capability: 'resources', key: 'uri' },
  resourceTemplates: { method: 'resources/templates/list', capability: 'resources', key: 'uriTemplate' },
}

/** Far more than any server has; what is beyond is left out. */
export interface ListLimits {
  readonly pages: number
  readonly entries: number
  /** Of all lists together. */
  readonly bytes: number
}

const LIMITS: ListLimits = { pages: 1000, entries: 20_000, bytes: 32 * 1024 * 1024 }
const MAX_DEPTH = 200

export interface ReadLists {
  readonly lists: ServerLists
  /** How long the server says that its lists stay as they are; undefined where it does not say. SDKs say 0 by default. */
  readonly ttlMs: number | undefined
  /** Whether a limit cut something off. */
  readonly isCut: boolean
  /** How large the lists are together. */
  readonly bytes: number
}

/** Where lists are read. */
export type ListingLink = Pick<Link, 'about' | 'request'>

/** `signal` ends it. */
export async function readLists(link: ListingLink, signal: AbortSignal, limits = LIMITS): Promise<ReadLists> {
  const reading = new ListReading(link, signal, limits)
  const lists = await Promise.all(LISTS.map(async (list) => [list, await reading.list(list)] as const))
  const { ttlMs, isCut, bytes } = reading
  return { lists: { ...NO_LISTS, ...Object.fromEntries(lists) }, ttlMs, isCut, bytes }
}

class ListReading {
  ttlMs: number | undefined
  isCut = false
  bytes = 0
  readonly #link: ListingLink
  readonly #signal: AbortSignal
  readonly #limits: ListLimits

  constructor(link: ListingLink, signal: AbortSignal, limits: ListLimits) {
    this.#link = link
    this.#signal = signal
    this.#limits = limits
  }

  /** Entries without a name, second ones of the same name, and those that nest very deep are left out. */
  async list(list: ServerListName): Promise<readonly Json[]> {
    const { method, capability, key } = LISTINGS[list]
    if (!isObject(this.#link.about.capabilities[capability])) return []
    const entries = new Map<string, Json>()
    let cursor: string | undefined
    for (let page = 0; page < this.#limits.pages; page++) {
      const result = await this.#page(method, cursor)
      const items: readonly unknown[] = Array.isArray(result[list]) ? result[list] : []
      for (const item of items) {
        const name = isObject(item) ? item[key] : undefined
        if (!isObject(item) || typeof name !== 'string' || entries.has(name) || !isShallow(item)) continue
        if (!this.#hasRoom(entries.size, item)) return [...entries.values()]
        entries.set(name, item)
      }
      this.#note(result)
      const { nextCursor } = result
      if (typeof nextCursor !== 'string' || nextCursor === '' || nextCursor === cursor) return [...entries.values()]
      cursor = nextCursor
    }
    this.isCut = true
    return [...entries.values()]
  }

  #hasRoom(entries: number, item: Json): boolean {
    this.bytes += JSON.stringify(item).length
    const hasRoom = entries < this.#limits.entries && this.bytes <= this.#limits.bytes
    if (!hasRoom) this.isCut = true
    return hasRoom
  }

  /** The lists are read again together, when the first of them may have changed. */
  #note({ ttlMs }: Json): void {
    if (typeof ttlMs === 'number' && ttlMs > 0) this.ttlMs = Math.min(ttlMs, this.ttlMs ?? ttlMs)
  }

  /** Many servers declare resources and have no templates; some declare what they do not have at all. */
  async #page(method: string, cursor: string | undefined): Promise<Json> {
    const signal = this.#signal
    const onCancel = (listener: () => void): void => signal.addEventListener('abort', listener, { once: true })
    try {
      return await this.#link.request(listRequest(method, cursor === undefined ? {} : { cursor }, onCancel))
    } catch (error) {
      if ((error as { code?: unknown }).code === CODES.METHOD_NOT_FOUND) return {}
      throw error
    }
  }
}

/** Some servers list more to clients that can be asked. Whoever lists is asked nothing. */
function listRequest(method: string, params: Json, onCancel: Relayed['onCancel']): Relayed {
  const request = ownRequest(method, params, { onCancel })
  const ask = (): Promise<Json> => Promise.reject(new RemoteError(CODES.INVALID_REQUEST, 'Nobody can be asked.'))
  return { ...request, peer: { ...request.peer, capabilities: EVERY_QUESTION }, ask }
}

/** Whether something nests so little that it can be compared and written by functions that call themselves. */
function isShallow(entry: Json): boolean {
  let level: readonly unknown[] = [entry]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return false
    level = level.flatMap((value): readonly unknown[] =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    )
  }
  return true
}
