/**
 * The contents of a route, under its names. Servers have an order: of equal names or addresses the first server's
 * counts, and a later server cannot take an address that a template of an earlier one covers.
 */
import { isObject, type Json } from '../../protocol/index.ts'
import type { PromptEntry, ResourceEntry, TemplateEntry, ToolEntry } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import type { ServerLists } from '../backends/lists/serverLists.ts'
import type { RouteNames } from './names.ts'
import { taskListing, taskSupportOf } from './tasks/source.ts'

/** The target of a name of a route. */
export interface BackendTarget {
  readonly backend: Backend
  /** The server's own name of it. */
  readonly name: string
  /** Its definition on the route, if listed. */
  readonly listed?: Json
}

export interface RouteEntry extends BackendTarget {
  readonly listed: Json
}

export type RouteListing = ReadonlyMap<string, RouteEntry>

export interface RouteContents {
  readonly tools: RouteListing
  readonly prompts: RouteListing
  readonly resources: RouteListing
  readonly templates: RouteListing
  /** Resources by their addresses at their servers; of equal ones the first server's. */
  readonly originals: RouteListing
}

/** A server, and its lists for the callers of the route. */
export interface ListedServer {
  readonly backend: Backend
  readonly lists: ServerLists
}

const NO_ENTRIES: RouteListing = new Map()

export const EMPTY: RouteContents = {
  tools: NO_ENTRIES,
  prompts: NO_ENTRIES,
  resources: NO_ENTRIES,
  templates: NO_ENTRIES,
  originals: NO_ENTRIES,
}

export function collectContents(servers: readonly ListedServer[], names: RouteNames): RouteContents {
  const { tools, prompts, resources, templates, originals } = new ContentsCollector(servers, names)
  return { tools, prompts, resources, templates, originals }
}

class ContentsCollector implements RouteContents {
  readonly tools = new Map<string, RouteEntry>()
  readonly prompts = new Map<string, RouteEntry>()
  readonly resources = new Map<string, RouteEntry>()
  readonly templates = new Map<string, RouteEntry>()
  readonly originals = new Map<string, RouteEntry>()
  readonly #names: RouteNames
  readonly #owners: ReadonlyMap<string, number>
  readonly #starts: TemplateStarts
  /** The index of the server whose entries are being added. */
  #server = 0

  constructor(servers: readonly ListedServer[], names: RouteNames) {
    this.#names = names
    this.#owners = countOwners(servers)
    this.#starts = new TemplateStarts(servers.map(({ lists }) => lists.resourceTemplates))
    for (const server of servers) {
      this.#add(server)
      this.#server++
    }
  }

  #add({ backend, lists }: ListedServer): void {
    for (const tool of lists.tools) this.#addNamed(this.tools, backend, { ...tool, ...taskListing(backend, tool) })
    for (const prompt of lists.prompts) this.#addNamed(this.prompts, backend, prompt)
    for (const resource of lists.resources) this.#addResource(backend, resource)
    for (const template of lists.resourceTemplates) this.#addTemplate(backend, template)
  }

  #addNamed(listing: Map<string, RouteEntry>, backend: Backend, entry: Json): void {
    const name = String(entry['name'])
    const exposed = this.#names.exposed(backend.name, name)
    addFirst(listing, exposed, { backend, name, listed: { ...entry, name: exposed } })
  }

  #addResource(backend: Backend, entry: Json): void {
    const name = String(entry['uri'])
    const isFree = this.#isFree(name)
    const uri = this.#exposedUri(backend, name, isFree)
    addFirst(this.resources, uri, { backend, name, listed: { ...entry, uri } })
    if (isFree) addFirst(this.originals, name, { backend, name, listed: entry })
  }

  #addTemplate(backend: Backend, entry: Json): void {
    const name = String(entry['uriTemplate'])
    const uriTemplate = this.#exposedUri(backend, name, this.#isFree(name))
    addFirst(this.templates, uriTemplate, { backend, name, listed: { ...entry, uriTemplate } })
  }

  #exposedUri({ name }: Backend, uri: string, isFree: boolean): string {
    return this.#names.exposedUri(name, uri, isFree && this.#owners.get(uri) === 1)
  }

  /** Whether no template of an earlier server covers this address or template. */
  #isFree(uri: string): boolean {
    const first = this.#starts.firstAbout(uri)
    return first === undefined || first >= this.#server
  }
}

function addFirst(listing: Map<string, RouteEntry>, exposed: string, entry: RouteEntry): void {
  if (!listing.has(exposed)) listing.set(exposed, entry)
}

/** The number of servers with a resource or template of each address. */
function countOwners(servers: readonly ListedServer[]): ReadonlyMap<string, number> {
  const owners = new Map<string, number>()
  for (const { lists } of servers) {
    const uris = [
      ...lists.resources.map(({ uri }) => uri),
      ...lists.resourceTemplates.map((each) => each['uriTemplate']),
    ]
    for (const uri of new Set(uris)) owners.set(String(uri), (owners.get(String(uri)) ?? 0) + 1)
  }
  return owners
}

/** The literal start of a template. One that an earlier server also has, or has in part, is left out. */
interface TemplateStart {
  readonly text: string
  /** The index of the first server that has it. */
  readonly server: number
  /** The longest other start within it. It is of a later server, so there are no more of them than servers. */
  readonly within: TemplateStart | undefined
}

/**
 * The literal starts of the templates of all servers, to find the server that an address belongs to. They are sorted:
 * a start of an address stands just before it, so a search takes as long as the address, whatever their number.
 */
export class TemplateStarts {
  readonly #sorted: TemplateStart[] = []

  /** `templates`: those of each server, in order. */
  constructor(templates: readonly (readonly Json[])[]) {
    for (const [text, server] of Array.from(firstServers(templates)).toSorted(byText)) {
      const within = longestIn(this.#sorted.at(-1), text)
      if (within === undefined || server < within.server) this.#sorted.push({ text, server, within })
    }
  }

  /** The index of the first server with a template that may cover an address, or another template. */
  firstAbout(uri: string): number | undefined {
    return longestIn(this.#lastUpTo(uri), uri)?.server
  }

  #lastUpTo(uri: string): TemplateStart | undefined {
    let [low, high] = [0, this.#sorted.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#sorted[middle] as TemplateStart).text <= uri) low = middle + 1
      else high = middle
    }
    return this.#sorted[low - 1]
  }
}

function firstServers(templates: readonly (readonly Json[])[]): ReadonlyMap<string, number> {
  const servers = new Map<string, number>()
  for (const [server, listed] of templates.entries()) {
    for (const each of listed) {
      const text = fixedStart(String(each['uriTemplate']))
      // A template without a literal start covers anything.
      if (text !== '' && !servers.has(text)) servers.set(text, server)
    }
  }
  return servers
}

function byText([a]: readonly [string, number], [b]: readonly [string, number]): number {
  return a < b ? -1 : 1
}

/** The longest of a start and those within it that a text begins with. */
function longestIn(start: TemplateStart | undefined, text: string): TemplateStart | undefined {
  let found = start
  while (found !== undefined && !text.startsWith(found.text)) found = found.within
  return found
}

/** Entries of the registry have no handlers: the methods of the route relay calls. */
const open = { access: undefined, carry: undefined } as const

function relayed(): never {
  throw new TypeError('A route has no handlers.')
}

/** Only the session era lists whether a tool runs as a task, so the registry keeps that beside the tool. */
export function toolEntry(name: string, tool: Json): ToolEntry {
  const { execution: _, ...listed } = tool
  const support = taskSupportOf(tool)
  const task = support === 'never' ? undefined : { task: support }
  const none = { input: undefined, output: undefined, mirrored: [] }
  return { ...open, ...none, task, name, listed, handler: relayed }
}

export function promptEntry(name: string, listed: Json): PromptEntry {
  return { ...open, name, listed, input: undefined, handler: relayed }
}

export function resourceEntry(uri: string, listed: Json): ResourceEntry {
  return { ...open, uri, listed, options: { name: nameIn(listed) }, handler: relayed }
}

export function templateEntry(source: string, listed: Json): TemplateEntry {
  const start = fixedStart(source)
  const match = (uri: string): Record<string, string> | undefined => (uri.startsWith(start) ? {} : undefined)
  return {
    ...open,
    template: { source, variables: [], match },
    listed,
    options: { name: nameIn(listed) },
    handler: relayed,
  }
}

function nameIn(listed: Json): string {
  return isObject(listed) && typeof listed['name'] === 'string' ? listed['name'] : ''
}

/** The literal start of a template. */
export function fixedStart(template: string): string {
  const at = template.indexOf('{')
  return at < 0 ? template : template.slice(0, at)
}
