/**
 * The addresses of resources on a route. Servers have an order: the first server keeps an address that several have,
 * and a later server cannot take an address that a template of an earlier one covers. The others get the server's name
 * as a prefix.
 */
import type { Json } from '../../protocol/index.ts'
import type { Backend } from '../backends/backend.ts'
import type { ServerLists } from '../backends/lists/serverLists.ts'
import type { RouteNames } from './names.ts'
import { pagesOf } from './resourceLinks.ts'

/** A server, and its lists for the callers of the route. */
export interface ListedServer {
  readonly backend: Backend
  readonly lists: ServerLists
}

export class RouteAddresses {
  readonly #names: RouteNames
  readonly #servers: ReadonlyMap<Backend, { readonly index: number; readonly own: ReadonlySet<string> }>
  /** The number of servers with each address. */
  readonly #owners = new Map<string, number>()
  readonly #starts: TemplateStarts

  constructor(servers: readonly ListedServer[], names: RouteNames) {
    this.#names = names
    const known = servers.map(({ backend, lists }, index) => [backend, { index, own: addressesIn(lists) }] as const)
    this.#servers = new Map(known)
    for (const [, { own }] of known) for (const uri of own) this.#owners.set(uri, (this.#owners.get(uri) ?? 0) + 1)
    this.#starts = new TemplateStarts(servers.map(({ lists }) => lists.resourceTemplates))
  }

  /** The address on this route of a server's resource or template, listed or not. */
  exposed(backend: Backend, uri: string): string {
    return this.#names.exposedUri(backend.name, uri, this.#isUnique(backend, uri))
  }

  /** Whether no template of an earlier server covers an address or template of this one. */
  isFree(backend: Backend, uri: string): boolean {
    const first = this.#starts.firstAbout(uri)
    return first === undefined || first >= (this.#servers.get(backend)?.index ?? 0)
  }

  /** Whether the address belongs to no other server. */
  #isUnique(backend: Backend, uri: string): boolean {
    const { index, own } = this.#servers.get(backend) ?? {}
    if (own?.has(uri)) return this.#owners.get(uri) === 1 && this.isFree(backend, uri)
    const first = this.#starts.firstAbout(uri)
    return !this.#owners.has(uri) && (first === undefined || first === index)
  }
}

function addressesIn({ tools, resources, resourceTemplates }: ServerLists): ReadonlySet<string> {
  return new Set([
    ...resources.map(({ uri }) => String(uri)),
    ...resourceTemplates.map((each) => String(each['uriTemplate'])),
    ...tools.flatMap(pagesOf),
  ])
}

/** The literal start of a template. A start that begins with a start of an earlier server is left out. */
interface TemplateStart {
  readonly text: string
  /** The index of the first server that has it. */
  readonly server: number
  /**
   * The longest other start that is a prefix of it. That belongs to a later server, so a chain is at most as long as
   * the number of servers.
   */
  readonly within: TemplateStart | undefined
}

/**
 * The literal starts of the templates of all servers, to find the server of an address. They are sorted, so a binary search finds the start of an address, in time that depends only on its length.
 */
export class TemplateStarts {
  readonly #sorted: TemplateStart[] = []

  /** `templates`: those of each server, in order. */
  constructor(templates: readonly (readonly Json[])[]) {
    for (const [text, server] of Array.from(firstServers(templates)).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
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

/** The longest among a start and those within it that the text begins with. */
function longestIn(start: TemplateStart | undefined, text: string): TemplateStart | undefined {
  let found = start
  while (found !== undefined && !text.startsWith(found.text)) found = found.within
  return found
}

export function fixedStart(template: string): string {
  const at = template.indexOf('{')
  return at < 0 ? template : template.slice(0, at)
}
