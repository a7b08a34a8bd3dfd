/**
 * What the servers of a route list, under the names that it has there. Servers have an order: where two have the same name or
 * address, it is that of the first, and a later one cannot take an address that a template of an earlier one is about.
 */
import type { Json } from '../../protocol/index.ts'
import type { Backend } from '../backends/backend.ts'
import type { ServerLists } from '../backends/lists/serverLists.ts'
import { fixedStart } from './entries.ts'
import type { RouteNames } from './names.ts'
import type { BackendTarget } from './relay.ts'
import { taskListing } from './tasks/source.ts'

export interface RouteEntry extends BackendTarget {
  readonly listed: Json
}

export type RouteListing = ReadonlyMap<string, RouteEntry>

export interface RouteContents {
  readonly tools: RouteListing
  readonly prompts: RouteListing
  readonly resources: RouteListing
  readonly templates: RouteListing
  /** Resources by the addresses that they have at their servers, each of the first server that has it. */
  readonly originals: RouteListing
}

/** A server, and what callers of the route are listed of it. */
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
  /** Of the servers before. */
  readonly #earlier = new TemplateStarts()

  constructor(servers: readonly ListedServer[], names: RouteNames) {
    this.#names = names
    this.#owners = countOwners(servers)
    for (const server of servers) this.#add(server)
  }

  #add({ backend, lists }: ListedServer): void {
    for (const tool of lists.tools) this.#addNamed(this.tools, backend, { ...tool, ...taskListing(backend, tool) })
    for (const prompt of lists.prompts) this.#addNamed(this.prompts, backend, prompt)
    for (const resource of lists.resources) this.#addResource(backend, resource)
    for (const template of lists.resourceTemplates) this.#addTemplate(backend, template)
    this.#earlier.add(lists.resourceTemplates)
  }

  #addNamed(listing: Map<string, RouteEntry>, backend: Backend, entry: Json): void {
    const name = String(entry['name'])
    const exposed = this.#names.exposed(backend.name, name)
    addFirst(listing, exposed, { backend, name, listed: { ...entry, name: exposed } })
  }

  #addResource(backend: Backend, entry: Json): void {
    const name = String(entry['uri'])
    const uri = this.#exposedUri(backend, name)
    addFirst(this.resources, uri, { backend, name, listed: { ...entry, uri } })
    if (!this.#earlier.cover(name)) addFirst(this.originals, name, { backend, name, listed: entry })
  }

  #addTemplate(backend: Backend, entry: Json): void {
    const name = String(entry['uriTemplate'])
    const uriTemplate = this.#exposedUri(backend, name)
    addFirst(this.templates, uriTemplate, { backend, name, listed: { ...entry, uriTemplate } })
  }

  #exposedUri({ name }: Backend, uri: string): string {
    return this.#names.exposedUri(name, uri, this.#owners.get(uri) === 1 && !this.#earlier.cover(uri))
  }
}

function addFirst(listing: Map<string, RouteEntry>, exposed: string, entry: RouteEntry): void {
  if (!listing.has(exposed)) listing.set(exposed, entry)
}

/** How many servers have a resource or template of this address. */
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

/** The fixed beginnings of templates, to see which addresses they may be about. */
class TemplateStarts {
  readonly #starts = new Set<string>()
  readonly #lengths = new Set<number>()

  add(templates: readonly Json[]): void {
    for (const each of templates) {
      const start = fixedStart(String(each['uriTemplate']))
      if (start === '') continue // it says nothing of what it is about
      this.#starts.add(start)
      this.#lengths.add(start.length)
    }
  }

  /** Whether an address, or all that another template is about, begins with one of them. */
  cover(uri: string): boolean {
    for (const length of this.#lengths) if (this.#starts.has(uri.slice(0, length))) return true
    return false
  }
}
