/** What a server offers: its lists, whole, as it gave them. */
import { CODES, isObject, type Json } from '../../protocol/index.ts'
import { type Link, ownRequest } from '../links/link.ts'

export const LISTS = ['tools', 'prompts', 'resources', 'resourceTemplates'] as const

export type OfferList = (typeof LISTS)[number]

export type Offer = Readonly<Record<OfferList, readonly Json[]>>

export const NOTHING: Offer = { tools: [], prompts: [], resources: [], resourceTemplates: [] }

interface ListMethod {
  readonly method: string
  /** The capability without which a server has no such list. */
  readonly capability: string
  /** The member by which an entry is known. */
  readonly key: string
}

const LISTINGS: Readonly<Record<OfferList, ListMethod>> = {
  tools: { method: 'tools/list', capability: 'tools', key: 'name' },
  prompts: { method: 'prompts/list', capability: 'prompts', key: 'name' },
  resources: { method: 'resources/list', capability: 'resources', key: 'uri' },
  resourceTemplates: { method: 'resources/templates/list', capability: 'resources', key: 'uriTemplate' },
}

// Far more than any server has; one whose cursors never end is cut here.
const MAX_PAGES = 1000
const MAX_ENTRIES = 20_000
const MAX_DEPTH = 200

export async function readOffer(link: Link): Promise<Offer> {
  const lists = await Promise.all(LISTS.map(async (list) => [list, await readList(link, list)] as const))
  return { ...NOTHING, ...Object.fromEntries(lists) }
}

/** Entries without a name, second ones of the same name, and those that nest very deep are left out. */
async function readList(link: Link, list: OfferList): Promise<readonly Json[]> {
  const { method, capability, key } = LISTINGS[list]
  if (!isObject(link.about.capabilities[capability])) return []
  const entries = new Map<string, Json>()
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES && entries.size < MAX_ENTRIES; page++) {
    const result = await readPage(link, method, cursor)
    const items: readonly unknown[] = Array.isArray(result[list]) ? result[list] : []
    for (const item of items) {
      const name = isObject(item) ? item[key] : undefined
      if (isObject(item) && typeof name === 'string' && !entries.has(name) && isShallow(item)) entries.set(name, item)
    }
    const { nextCursor } = result
    if (typeof nextCursor !== 'string' || nextCursor === '' || nextCursor === cursor) break
    cursor = nextCursor
  }
  return [...entries.values()]
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

/** Many servers declare resources and have no templates; some declare what they do not have at all. */
async function readPage(link: Link, method: string, cursor: string | undefined): Promise<Json> {
  try {
    return await link.request(ownRequest(method, cursor === undefined ? {} : { cursor }))
  } catch (error) {
    if ((error as { code?: unknown }).code === CODES.METHOD_NOT_FOUND) return {}
    throw error
  }
}
