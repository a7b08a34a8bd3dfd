/** What a route offers, under which names, and which server has it. */
import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../protocol/index.ts'
import type { Entries, ListName } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import type { ServerLists } from '../backends/lists/serverLists.ts'
import {
  applyView,
  createToolSearch,
  nameBehindView,
  passes,
  savedBytes,
  SEARCH_TOOLS,
  type ToolSearch,
  type View,
} from '../catalog/index.ts'
import type { CatalogueMode } from '../config/index.ts'
import { promptEntry, resourceEntry, templateEntry, toolEntry, fixedStart } from './entries.ts'
import type { Directory } from './methods.ts'
import type { BackendTarget } from './relay.ts'
import { TemplateStarts } from './templateStarts.ts'
import { taskListing } from './tasks/source.ts'

/** The names of a route. */
export interface RouteNames {
  /** The name of a tool or prompt of a server here. */
  exposed(server: string, name: string): string
  /** What a name stands for that is not listed, if it can be told. */
  resolve(exposed: string): { readonly server: string; readonly name: string } | undefined
  /** The address of a resource of a server here. `isUnique`: no other server has it. */
  exposedUri(server: string, uri: string, isUnique: boolean): string
  resolveUri(uri: string): { readonly server: string; readonly uri: string } | undefined
}

/** What a route offers, as the configuration says at the moment. */
export interface RouteScope {
  /** The servers behind it, in order. */
  readonly backends: () => readonly Backend[]
  readonly names: () => RouteNames
  /** Which tools it offers, and nothing else; undefined where it offers everything. */
  readonly view: () => View | undefined
  /** Whether its tools are listed, or those that find, describe and call them. */
  readonly catalogue: () => CatalogueMode
}

/** How much a route lists. */
export interface ListedTools {
  /** How many tools it has. */
  readonly tools: number
  /** Where three tools are listed in place of all: how long the list would be, and how long it is, in bytes. */
  readonly saved?: { readonly before: number; readonly after: number }
}

interface RouteEntry extends BackendTarget {
  readonly listed: Json
}

type RouteListing = ReadonlyMap<string, RouteEntry>

interface RouteContents {
  readonly tools: RouteListing
  readonly prompts: RouteListing
  readonly resources: RouteListing
  readonly templates: RouteListing
  /** Resources by the addresses that they have at their servers, each of the first server that has it. */
  readonly originals: RouteListing
}

const NO_ENTRIES: RouteListing = new Map()
const EMPTY: RouteContents = {
  tools: NO_ENTRIES,
  prompts: NO_ENTRIES,
  resources: NO_ENTRIES,
  templates: NO_ENTRIES,
  originals: NO_ENTRIES,
}

/** What callers may have of a server, and are listed. */
type ServedLists = (backend: Backend) => ServerLists

const toEveryone: ServedLists = (backend) => backend.served(backend.lists)

export class RouteDirectory implements Directory {
  readonly #scope: RouteScope
  readonly #listsOf: ServedLists
  #contents = EMPTY
  /** Those whose lists were read last. */
  #backends: readonly Backend[] = []
  #listed: readonly Json[] = []
  #search: ToolSearch | undefined

  constructor(scope: RouteScope, listsOf = toEveryone) {
    this.#scope = scope
    this.#listsOf = listsOf
  }

  /** The same as it is now, whatever is configured later. */
  frozen(): RouteDirectory {
    const [names, view, catalogue] = [this.#scope.names(), this.#scope.view(), this.#scope.catalogue()]
    const backends = this.#backends
    const scope = { backends: () => backends, names: () => names, view: () => view, catalogue: () => catalogue }
    const frozen = new RouteDirectory(scope, this.#listsOf)
    frozen.#backends = backends
    frozen.#contents = this.#contents
    frozen.#search = this.#search
    return frozen
  }

  /** Whether a server behind this route keeps something between calls. */
  get keepsState(): boolean {
    const isPart = (backend: Backend): boolean => this.#scope.view() === undefined || this.#hasToolOf(backend)
    return this.#scope.backends().some((backend) => backend.keepsState && isPart(backend))
  }

  /** Whether a server behind this route is of the session era, and asks in the middle of a call. */
  get hasLegacyServer(): boolean {
    return this.#backends.some(({ era }) => era === 'legacy')
  }

  /** Defined where tools are found by searching. */
  get search(): ToolSearch | undefined {
    return this.#search
  }

  get listedTools(): ListedTools {
    const tools = listedOf(this.#contents.tools)
    return { tools: tools.length, ...(this.#search !== undefined && { saved: savedBytes(tools) }) }
  }

  tool(name: string): BackendTarget | undefined {
    const found = this.#contents.tools.get(name) ?? this.#unlistedTool(name)
    return found !== undefined && passes(found.name, found.backend.config.settings.tools) ? found : undefined
  }

  prompt(name: string): BackendTarget | undefined {
    return this.#contents.prompts.get(name) ?? this.#unlisted(name)
  }

  resource(uri: string): BackendTarget | undefined {
    return this.#contents.resources.get(uri) ?? this.#unlistedUri(uri)
  }

  template(uriTemplate: string): BackendTarget | undefined {
    return this.#contents.templates.get(uriTemplate)
  }

  /** Reads the lists of all servers anew. Gives the entries, and the lists that have changed. */
  refresh(): { entries: Entries; changed: readonly ListName[] } {
    const before = { contents: this.#contents, listed: this.#listed }
    this.#backends = this.#scope.backends()
    this.#contents = this.#collect()
    const { tools, prompts, resources, templates } = this.#contents
    const searched = this.#scope.catalogue() === 'search'
    this.#search = searched ? createToolSearch(listedOf(tools)) : undefined
    this.#listed = searched ? SEARCH_TOOLS : listedOf(tools)
    const differs = (list: 'prompts' | 'resources' | 'templates'): boolean =>
      !isDeepStrictEqual(listedOf(before.contents[list]), listedOf(this.#contents[list]))
    const changed: ListName[] = []
    if (!isDeepStrictEqual(before.listed, this.#listed)) changed.push('tools')
    if (differs('prompts')) changed.push('prompts')
    if (differs('resources') || differs('templates')) changed.push('resources')
    const entries = {
      tools: this.#listed.map((listed) => toolEntry(String(listed['name']), listed)),
      prompts: entriesOf(prompts, promptEntry),
      resources: entriesOf(resources, resourceEntry),
      templates: entriesOf(templates, templateEntry),
    }
    return { entries, changed }
  }

  #collect(): RouteContents {
    const contents = this.#collectAll()
    const view = this.#scope.view()
    return view === undefined ? contents : { ...EMPTY, tools: viewed(view, contents.tools) }
  }

  #collectAll(): RouteContents {
    const served = this.#scope.backends().filter(({ isRejected }) => !isRejected)
    const backends = served.map((backend) => ({ backend, lists: this.#listsOf(backend) }))
    const names = this.#scope.names()
    const owners = countOwners(backends.map(({ lists }) => lists))
    const tools = new Map<string, RouteEntry>()
    const prompts = new Map<string, RouteEntry>()
    const resources = new Map<string, RouteEntry>()
    const templates = new Map<string, RouteEntry>()
    const originals = new Map<string, RouteEntry>()
    const earlier = new TemplateStarts()
    for (const { backend, lists } of backends) {
      const add = (listing: Map<string, RouteEntry>, name: string, exposed: string, listed: Json): void => {
        if (!listing.has(exposed)) listing.set(exposed, { backend, name, listed })
      }
      const exposedUri = (uri: string): string =>
        names.exposedUri(backend.name, uri, owners.get(uri) === 1 && !earlier.cover(uri))
      for (const [list, into] of [
        ['tools', tools],
        ['prompts', prompts],
      ] as const)
        for (const entry of lists[list]) {
          const name = String(entry['name'])
          const exposed = names.exposed(backend.name, name)
          add(into, name, exposed, { ...entry, ...(list === 'tools' && taskListing(backend, entry)), name: exposed })
        }
      for (const entry of lists.resources) {
        const uri = String(entry['uri'])
        add(resources, uri, exposedUri(uri), { ...entry, uri: exposedUri(uri) })
        if (!earlier.cover(uri)) add(originals, uri, uri, entry)
      }
      for (const entry of lists.resourceTemplates) {
        const uri = String(entry['uriTemplate'])
        add(templates, uri, exposedUri(uri), { ...entry, uriTemplate: exposedUri(uri) })
      }
      earlier.add(lists.resourceTemplates)
    }
    return { tools, prompts, resources, templates, originals }
  }

  #hasToolOf(backend: Backend): boolean {
    return [...this.#contents.tools.values()].some((found) => found.backend === backend)
  }

  #unlistedTool(name: string): BackendTarget | undefined {
    const view = this.#scope.view()
    const original = view === undefined ? name : nameBehindView(view, name)
    return original === undefined ? undefined : this.#unlisted(original)
  }

  /** Before a server has been reached its lists are not known, and calls wait for it. */
  #unlisted(exposed: string): BackendTarget | undefined {
    const resolved = this.#scope.names().resolve(exposed)
    const backend = this.#scope.backends().find(({ name }) => name === resolved?.server)
    if (backend === undefined || resolved === undefined) return undefined
    // A server says itself that it withholds a tool, or that this caller has none of the name.
    const isListed = backend.about !== undefined && !backend.withheld.has(resolved.name) && !backend.listsDiffer
    return isListed ? undefined : { backend, name: resolved.name }
  }

  /** An address that names its server, or one that servers have as it is. */
  #unlistedUri(uri: string): BackendTarget | undefined {
    const resolved = this.#scope.names().resolveUri(uri)
    if (resolved === undefined) return this.#contents.originals.get(uri) ?? this.#byTemplate(uri)
    const backend = this.#scope.backends().find(({ name }) => name === resolved.server)
    return backend && { backend, name: resolved.uri }
  }

  /**
   * Templates have expressions that only their servers understand, so their fixed beginning decides: of several, that of
   * the first server. A later one cannot take what an earlier one serves.
   */
  #byTemplate(uri: string): BackendTarget | undefined {
    for (const { backend, name } of this.#contents.templates.values()) {
      const start = fixedStart(name)
      if (start !== '' && uri.startsWith(start)) return { backend, name: uri }
    }
    return undefined
  }
}

/** How many servers have a resource or template of this address. */
function countOwners(all: readonly ServerLists[]): ReadonlyMap<string, number> {
  const owners = new Map<string, number>()
  for (const lists of all) {
    const uris = [
      ...lists.resources.map(({ uri }) => uri),
      ...lists.resourceTemplates.map((each) => each['uriTemplate']),
    ]
    for (const uri of new Set(uris)) owners.set(String(uri), (owners.get(String(uri)) ?? 0) + 1)
  }
  return owners
}

function listedOf(listing: RouteListing): readonly Json[] {
  return Array.from(listing.values(), ({ listed }) => listed)
}

/** The tools of a view, under its names. */
function viewed(view: View, tools: RouteListing): RouteListing {
  const entries = Array.from(tools.values(), (entry) =>
    applyView(view, [entry.listed]).map((listed) => [String(listed['name']), { ...entry, listed }] as const),
  )
  return new Map(entries.flat())
}

function entriesOf<T>(listing: RouteListing, entryOf: (name: string, listed: Json) => T): readonly T[] {
  return Array.from(listing, ([name, { listed }]) => entryOf(name, listed))
}
