/** The directory of a route: its entries, their names and their servers. */
import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../protocol/index.ts'
import type { Entries, Listing, ListName } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { type ListCaching, type ServerLists, strictest } from '../backends/lists/serverLists.ts'
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
import {
  type BackendTarget,
  collectContents,
  EMPTY,
  promptEntry,
  resourceEntry,
  type RouteContents,
  type RouteEntry,
  type RouteListing,
  templateEntry,
  toolEntry,
} from './contents.ts'
import { fixedStart } from './addresses.ts'
import type { RouteNames } from './names.ts'
import { withAddresses } from './resourceLinks.ts'

/** The current configuration of a route. */
export interface RouteScope {
  /** The servers behind it, in order. */
  readonly backends: () => readonly Backend[]
  readonly names: () => RouteNames
  /** The view that selects its tools, and offers nothing else; undefined if it offers everything. */
  readonly view: () => View | undefined
  /** Whether it lists its tools, or the three that find, describe and call them. */
  readonly catalogue: () => CatalogueMode
  /** A tool of the gateway itself, which is listed after those of its servers. */
  readonly ownTool?: Json | undefined
}

/** The size of a route's list of tools. */
export interface ListedTools {
  readonly tools: number
  /** If three tools are listed in place of all: the size of both lists, in bytes. */
  readonly saved?: { readonly before: number; readonly after: number }
}

/** The lists of a server as callers get them. */
type ServedLists = (backend: Backend) => ServerLists

const toEveryone: ServedLists = (backend) => backend.lists.served()

export class RouteDirectory {
  readonly #scope: RouteScope
  readonly #listsOf: ServedLists
  #contents = EMPTY
  /** The servers at the last refresh. */
  #backends: readonly Backend[] = []
  #listed: readonly Json[] = []
  #search: ToolSearch | undefined

  constructor(scope: RouteScope, listsOf = toEveryone) {
    this.#scope = scope
    this.#listsOf = listsOf
  }

  /** A snapshot that ignores later configurations. */
  #frozen(): RouteDirectory {
    const [names, view, catalogue] = [this.#scope.names(), this.#scope.view(), this.#scope.catalogue()]
    const backends = this.#backends
    const { ownTool } = this.#scope
    const scope = {
      ownTool,
      backends: () => backends,
      names: () => names,
      view: () => view,
      catalogue: () => catalogue,
    }
    const frozen = new RouteDirectory(scope, this.#listsOf)
    frozen.#backends = backends
    frozen.#contents = this.#contents
    frozen.#search = this.#search
    return frozen
  }

  /** Whether a server behind this route keeps state between calls. */
  get keepsState(): boolean {
    const isPart = (backend: Backend): boolean => this.#scope.view() === undefined || this.#hasToolOf(backend)
    return this.#scope.backends().some((backend) => backend.keepsState && isPart(backend))
  }

  /** Defined if tools are found by searching. */
  get search(): ToolSearch | undefined {
    return this.#search
  }

  get listedTools(): ListedTools {
    const tools = listedOf(this.#contents.tools)
    return { tools: tools.length, ...(this.#search !== undefined && { saved: savedBytes(tools) }) }
  }

  #present(server: string): Backend | undefined {
    return this.#scope.backends().find(({ name }) => name === server)
  }

  tool(name: string): BackendTarget | undefined {
    const found = this.#contents.tools.get(name) ?? this.#unlistedTool(name)
    return found !== undefined && passes(found.name, found.backend.config.settings.tools) ? found : undefined
  }

  /** The same without unlisted tools, except for withheld ones. */
  listedTool(name: string): BackendTarget | undefined {
    const found = this.tool(name)
    return found?.listed === undefined && !found?.backend.lists.withheld.has(found.name) ? undefined : found
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

  /** A server's result with the addresses that its resources have here. */
  addressed(result: Json, backend: Backend): Json {
    return withAddresses(result, (uri) => this.#contents.addresses.exposed(backend, uri))
  }

  /** The caching hints of a list: the strictest of its servers; undefined if no server has such a list. */
  caching(listing: Listing): ListCaching | undefined {
    if (listing === 'tools' && this.#search !== undefined) return undefined
    const entries = this.#contents[listing === 'resourceTemplates' ? 'templates' : listing]
    const servers = new Set(Array.from(entries.values(), ({ backend }) => backend))
    return servers.size === 0 ? undefined : strictest(Array.from(servers, ({ lists }) => lists.caching[listing]))
  }

  /** The same without some entries. */
  without(hidden: ReadonlySet<RouteEntry>): RouteDirectory {
    const rest = this.#frozen()
    const { tools, prompts, resources, templates } = this.#contents
    const shown = (listing: RouteListing): RouteListing =>
      new Map([...listing].filter(([, entry]) => !hidden.has(entry)))
    rest.#contents = {
      ...this.#contents,
      tools: shown(tools),
      prompts: shown(prompts),
      resources: shown(resources),
      templates: shown(templates),
    }
    rest.#index()
    return rest
  }

  get contents(): RouteContents {
    return this.#contents
  }

  /** Refreshes the entries from the lists of all servers. Returns them, and the names of changed lists. */
  refresh(): { entries: Entries; changed: readonly ListName[] } {
    const before = { contents: this.#contents, listed: this.#listed }
    this.#backends = this.#scope.backends()
    this.#contents = this.#collect()
    this.#index()
    const differs = (list: 'prompts' | 'resources' | 'templates'): boolean =>
      !isDeepStrictEqual(listedOf(before.contents[list]), listedOf(this.#contents[list]))
    const changed: ListName[] = []
    if (!isDeepStrictEqual(before.listed, this.#listed)) changed.push('tools')
    if (differs('prompts')) changed.push('prompts')
    if (differs('resources') || differs('templates')) changed.push('resources')
    return { entries: this.entries, changed }
  }

  get entries(): Entries {
    const { prompts, resources, templates } = this.#contents
    return {
      tools: this.#listed.map((listed) => toolEntry(String(listed['name']), listed)),
      prompts: entriesOf(prompts, promptEntry),
      resources: entriesOf(resources, resourceEntry),
      templates: entriesOf(templates, templateEntry),
    }
  }

  #index(): void {
    const tools = listedOf(this.#contents.tools)
    const searched = this.#scope.catalogue() === 'search'
    this.#search = searched ? createToolSearch(tools) : undefined
    const { ownTool } = this.#scope
    const isAdded = ownTool !== undefined && !this.#contents.tools.has(String(ownTool['name']))
    const listed = searched ? SEARCH_TOOLS : tools
    this.#listed = isAdded ? [...listed, ownTool] : listed
  }

  #collect(): RouteContents {
    const served = this.#scope.backends().filter(({ isRejected }) => !isRejected)
    const servers = served.map((backend) => ({ backend, lists: this.#listsOf(backend) }))
    const contents = collectContents(servers, this.#scope.names())
    const view = this.#scope.view()
    return view === undefined
      ? contents
      : { ...EMPTY, addresses: contents.addresses, tools: viewed(view, contents.tools) }
  }

  #hasToolOf(backend: Backend): boolean {
    return [...this.#contents.tools.values()].some((found) => found.backend === backend)
  }

  #unlistedTool(name: string): BackendTarget | undefined {
    const view = this.#scope.view()
    const original = view === undefined ? name : nameBehindView(view, name)
    return original === undefined ? undefined : this.#unlisted(original)
  }

  /** The target of an unlisted name: before a server has been reached its lists are unknown, and calls wait for it. */
  #unlisted(exposed: string): BackendTarget | undefined {
    const resolved = this.#scope.names().resolve(exposed)
    if (resolved === undefined) return undefined
    const backend = this.#present(resolved.server)
    if (backend === undefined) return undefined
    // The server itself refuses a withheld tool, or a tool that this caller does not have.
    const isListed =
      backend.connector.about !== undefined && !backend.lists.withheld.has(resolved.name) && !backend.listsDiffer
    return isListed ? undefined : { backend, name: resolved.name }
  }

  /** The target of an address that names its server, or of an original address. */
  #unlistedUri(uri: string): BackendTarget | undefined {
    const resolved = this.#scope.names().resolveUri(uri)
    if (resolved === undefined) return this.#contents.originals.get(uri) ?? this.#byTemplate(uri)
    const backend = this.#present(resolved.server)
    return backend && { backend, name: resolved.uri }
  }

  /**
   * The server whose template starts like the address. Only servers understand the expressions of their templates, so
   * the literal start decides; among several servers, the first.
   */
  #byTemplate(uri: string): BackendTarget | undefined {
    for (const { backend, name } of this.#contents.templates.values()) {
      const start = fixedStart(name)
      if (start !== '' && uri.startsWith(start)) return { backend, name: uri }
    }
    return undefined
  }
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
