/**
 * The contents of a route, under its names. Servers have an order: the first server keeps a name or address that
 * several have, and a later server cannot take an address that a template of an earlier one covers.
 */
import { isObject, type Json } from '../../protocol/index.ts'
import type { PromptEntry, ResourceEntry, TemplateEntry, ToolEntry } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { fixedStart, type ListedServer, RouteAddresses } from './addresses.ts'
import type { RouteNames } from './names.ts'
import { pagesOf, withPages } from './resourceLinks.ts'
import { taskListing, taskSupportOf } from './tasks/source.ts'

/** The target of a name of a route. */
export interface BackendTarget {
  readonly backend: Backend
  /** The name at the server. */
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
  /** Resources by their addresses at their servers; an address that several have belongs to the first. */
  readonly originals: RouteListing
  readonly addresses: Pick<RouteAddresses, 'exposed'>
}

const NO_ENTRIES: RouteListing = new Map()

export const EMPTY: RouteContents = {
  tools: NO_ENTRIES,
  prompts: NO_ENTRIES,
  resources: NO_ENTRIES,
  templates: NO_ENTRIES,
  originals: NO_ENTRIES,
  addresses: { exposed: (_, uri) => uri },
}

export function collectContents(servers: readonly ListedServer[], names: RouteNames): RouteContents {
  const { tools, prompts, resources, templates, originals, addresses } = new ContentsCollector(servers, names)
  return { tools, prompts, resources, templates, originals, addresses }
}

class ContentsCollector implements RouteContents {
  readonly tools = new Map<string, RouteEntry>()
  readonly prompts = new Map<string, RouteEntry>()
  readonly resources = new Map<string, RouteEntry>()
  readonly templates = new Map<string, RouteEntry>()
  readonly originals = new Map<string, RouteEntry>()
  readonly addresses: RouteAddresses
  readonly #names: RouteNames

  constructor(servers: readonly ListedServer[], names: RouteNames) {
    this.#names = names
    this.addresses = new RouteAddresses(servers, names)
    for (const server of servers) this.#add(server)
  }

  #add({ backend, lists }: ListedServer): void {
    for (const tool of lists.tools) this.#addTool(backend, tool)
    for (const prompt of lists.prompts) this.#addNamed(this.prompts, backend, prompt)
    for (const resource of lists.resources) this.#addResource(backend, resource)
    for (const template of lists.resourceTemplates) this.#addTemplate(backend, template)
    // The pages of tools may be missing in the lists of resources.
    for (const uri of lists.tools.flatMap(pagesOf)) this.#addOriginal(backend, uri, {})
  }

  #addTool(backend: Backend, tool: Json): void {
    const exposed = withPages(tool, (uri) => this.addresses.exposed(backend, uri))
    this.#addNamed(this.tools, backend, { ...exposed, ...taskListing(backend, tool) })
  }

  #addNamed(listing: Map<string, RouteEntry>, backend: Backend, entry: Json): void {
    const name = String(entry['name'])
    const exposed = this.#names.exposed(backend.name, name)
    addFirst(listing, exposed, { backend, name, listed: { ...entry, name: exposed } })
  }

  #addResource(backend: Backend, entry: Json): void {
    const name = String(entry['uri'])
    const uri = this.addresses.exposed(backend, name)
    addFirst(this.resources, uri, { backend, name, listed: { ...entry, uri } })
    this.#addOriginal(backend, name, entry)
  }

  #addOriginal(backend: Backend, name: string, listed: Json): void {
    if (this.addresses.isFree(backend, name)) addFirst(this.originals, name, { backend, name, listed })
  }

  #addTemplate(backend: Backend, entry: Json): void {
    const name = String(entry['uriTemplate'])
    const uriTemplate = this.addresses.exposed(backend, name)
    addFirst(this.templates, uriTemplate, { backend, name, listed: { ...entry, uriTemplate } })
  }
}

function addFirst(listing: Map<string, RouteEntry>, exposed: string, entry: RouteEntry): void {
  if (!listing.has(exposed)) listing.set(exposed, entry)
}

/** Entries of the registry have no handlers: the methods of the route relay calls. */
const open = { access: undefined, carry: undefined } as const

function relayed(): never {
  throw new TypeError('A route has no handlers.')
}

/** The entry of a tool. Only session-era lists show whether a tool runs as a task, so that is kept beside the tool. */
export function toolEntry(name: string, tool: Json): ToolEntry {
  const { execution: _, ...listed } = tool
  const support = taskSupportOf(tool)
  const task = support === 'never' ? undefined : { task: support }
  const none = { input: undefined, output: undefined, mirrored: [], needs: [] }
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
