/** The addresses of a gateway: `/mcp` for all servers, `/mcp/NAME` for each, and `/views/NAME` for some of their tools. */
import type { HeaderReader } from '../../protocol/index.ts'
import type { DrainOptions, EventBus, ServerOptions } from '../../server/index.ts'
import {
  type CallCounter,
  type Capability,
  type Connections,
  DRAIN_MS,
  type MissingPeer,
  refusal,
} from '../../server/internal.ts'
import type { Backend, BackendOptions } from '../backends/backend.ts'
import { type CatalogNames, createNames, type NamedServer, unionInstructions } from '../catalog/index.ts'
import type { GatewaySettings, ViewSettings } from '../config/index.ts'
import { absentMeta } from './absent.ts'
import { addressesOf } from './addresses.ts'
import { SharedListener } from './sharedListener.ts'
import type { ListedTools } from './directory.ts'
import { Parking } from '../parking/parking.ts'
import { FormerRoutes } from './former/routes.ts'
import { plainNames, prefixedNames } from './names.ts'
import { Route, type RouteOptions } from './route.ts'
import type { GatewayMetrics } from '../telemetry/metrics.ts'
import type { Via } from '../loops/via.ts'

export const UNION_PATH = '/mcp'
const VIEWS_PATH = '/views'

const EVERYTHING: ReadonlySet<Capability> = new Set(['tools', 'prompts', 'resources', 'completions'])
/** A view that is gone offers nothing to those who are still connected. */
const REMOVED: ViewSettings = { tools: [], deny: ['*'], rename: {}, descriptions: {}, catalogue: 'all' }
const TOOLS_ONLY: ReadonlySet<Capability> = new Set(['tools'])

export interface RoutesOptions {
  /** The servers behind the gateway, in order. */
  readonly backends: () => readonly Backend[]
  /** Resolves when all servers were tried, or have had their time. */
  readonly ready: () => Promise<void> | undefined
  readonly listDeadlineMs: number
  readonly server: ServerOptions
  /** What carries the news of a route to other gateways, where each route has its own. */
  readonly busOf: ((path: string) => EventBus) | undefined
  readonly metrics: GatewayMetrics
  readonly via: Via
  /** A route that was added later could not be opened. */
  readonly onUnopened: (error: unknown) => void
  readonly guards: Pick<ServerOptions, 'allowedHosts' | 'allowedOrigins'>
}

/** What the routes follow from. */
export interface RoutesConfig extends Pick<GatewaySettings, 'views' | 'catalogue'> {
  /** All servers that the names depend on. */
  readonly named: readonly NamedServer[]
  /** The names of those that are served. */
  readonly served: readonly string[]
}

export interface RouteCatalogue extends ListedTools {
  readonly path: string
}

type RouteParts = Pick<RouteOptions, 'scope' | 'capabilities' | 'instructions' | 'listMeta' | 'alone'>

/** For a path where no route is. */
export const NOT_FOUND = refusal(
  404,
  `All servers are at ${UNION_PATH}, one of them at ${UNION_PATH}/NAME, and a view at ${VIEWS_PATH}/NAME.`,
)

export class Routes {
  readonly union: Route
  readonly #options: RoutesOptions
  readonly #byPath = new Map<string, Route>()
  readonly #former = new FormerRoutes()
  /** Calls come back to the address they were made at; the count is of all together. */
  readonly #parking = new Parking()
  /** What servers tell routes, and ask of them. */
  readonly hooks: Pick<BackendOptions, 'onLists' | 'onUpdated' | 'relieve'> = {
    onLists: () => this.refresh(),
    onUpdated: (backend, uri) => {
      for (const route of this.#byPath.values()) route.updated(backend, uri)
    },
    relieve: ({ name }, caller) => this.#parking.relieve(name, caller),
  }
  #config: RoutesConfig = { named: [], served: [], views: {}, catalogue: 'all' }
  #names: CatalogNames = createNames([])
  #listener: SharedListener | undefined
  /** Resolves when no parked call waits for its client any more. */
  #parked: Promise<void> | undefined
  #base: string | undefined
  /** The addresses of gateways that are known from the start. */
  #others: readonly string[] = []
  #isOpen = false

  constructor(options: RoutesOptions) {
    this.#options = options
    this.union = this.#create(UNION_PATH, {
      scope: {
        backends: options.backends,
        names: () => prefixedNames(this.#names),
        view: () => undefined,
        catalogue: () => this.#config.catalogue,
      },
      capabilities: EVERYTHING,
      instructions: () => unionInstructions(options.backends().map(this.#instructed)),
      listMeta: () => absentMeta(options.backends(), this.#names),
    })
    this.#byPath.set(UNION_PATH, this.union)
  }

  /** What tools of servers are called at `/mcp`. */
  get names(): CatalogNames {
    return this.#names
  }

  /** The route at a path, or whose metadata document is there. `header`: of the request. */
  at(path: string, header: HeaderReader): Route | undefined {
    const plain = path.endsWith('/') ? path.slice(0, -1) : path
    const found = this.#byPath.get(plain) ?? this.#former.at(plain, header)
    if (found !== undefined) return found
    for (const route of this.#byPath.values()) if (route.assembly.endpoint.documents.has(path)) return route
    return undefined
  }

  /** Serves this from now on. What was served before keeps its route, with all that goes on there. */
  set(config: RoutesConfig): void {
    if (this.#isOpen) for (const route of this.#all) route.keepNames()
    this.#config = config
    this.#names = createNames(config.named)
    const wanted = new Map<string, () => RouteParts>([
      ...config.served.map((name) => [pathOf(UNION_PATH, name), () => this.#serverParts(name)] as const),
      ...Object.keys(config.views).map((name) => [pathOf(VIEWS_PATH, name), () => this.#viewParts(name)] as const),
    ])
    for (const [path, route] of this.#byPath) {
      if (path === UNION_PATH || wanted.has(path)) continue
      this.#byPath.delete(path)
      this.#former.keep(route)
    }
    for (const [path, partsOf] of wanted) {
      if (this.#byPath.has(path)) continue
      const former = this.#former.take(path)
      const route = former ?? this.#create(path, partsOf())
      this.#byPath.set(path, route)
      if (former !== undefined) continue
      if (this.#listener !== undefined) route.shutdown.addListener(this.#listener.join())
      this.#reach(route).catch(this.#options.onUnopened)
      if (this.#isOpen) route.open().catch(this.#options.onUnopened)
    }
    this.refresh()
  }

  /** From now on all routes are served by this listener, which is closed when none of them needs it any longer. */
  listen(connections: Pick<Connections, 'announceClose' | 'close'>): void {
    this.#listener = new SharedListener(connections, () => this.#parked)
    for (const route of this.#byPath.values()) route.shutdown.addListener(this.#listener.join())
  }

  /** From now on other gateways reach all routes at this address. Resolves when routes have looked for other gateways. */
  async reach(base: string): Promise<void> {
    this.#base = base
    await Promise.all(Array.from(this.#byPath.values(), (route) => this.#reach(route)))
  }

  /** Resolves when all routes know those of the gateways at these addresses, and are known there. */
  async meet(bases: readonly string[]): Promise<void> {
    this.#others = bases
    await Promise.all(Array.from(this.#byPath.values(), (route) => this.#meet(route)))
  }

  /** Where other gateways reach this one, as far as is known now. */
  get address(): string | undefined {
    const { url } = this.union.assembly.self
    return url === undefined ? undefined : new URL(url).origin
  }

  /** Lists what the servers offer now. */
  refresh(): void {
    for (const route of this.#all) route.refresh()
  }

  get #all(): readonly Route[] {
    return [...this.#byPath.values(), ...this.#former.all]
  }

  /** What is listed where tools of many servers are: at `/mcp`, and in views. */
  get catalogues(): readonly RouteCatalogue[] {
    const isCatalogue = ({ path }: Route): boolean => path === UNION_PATH || path.startsWith(`${VIEWS_PATH}/`)
    return [...this.#byPath.values()].filter(isCatalogue).map(({ path, listedTools }) => ({ path, ...listedTools }))
  }

  /** How many calls wait for an answer of their callers. */
  get parked(): number {
    return this.#parking.waiting
  }

  /** How many other gateways serve the same, as far as this one knows; any number where some are configured. */
  get knownOthers(): number {
    const { PANNIER_PEERS: configured = '' } = process.env
    return configured === '' ? this.union.assembly.replicas.peers.known().length : Number.POSITIVE_INFINITY
  }

  /** Where other gateways are configured, and none is that this one can work with. */
  get missingOthers(): readonly MissingPeer[] {
    return this.union.assembly.replicas.seeker.missing
  }

  /** How many calls are under way at all addresses. */
  get inFlight(): number {
    return this.#all.reduce((sum, { assembly }) => sum + assembly.load.inFlight, 0)
  }

  async open(): Promise<void> {
    this.#isOpen = true
    await Promise.all(Array.from(this.#byPath.values(), (route) => route.open()))
  }

  async drain(options: DrainOptions): Promise<void> {
    const { deadlineMs = DRAIN_MS } = options
    this.#parked = this.#parking.drain(deadlineMs / 2)
    // On standard input and output nobody can come back when the input has ended.
    const awaited = this.#listener === undefined ? undefined : this.#parked
    await Promise.all(this.#all.map((route) => route.drain(options, awaited)))
  }

  async #reach(route: Route): Promise<void> {
    if (this.#base === undefined) return
    const { self, replicas } = route.assembly
    // Not waited for: what is before a gateway may lead there only once it serves.
    if (self.url !== undefined) void replicas.checkAddress()
    self.url ??= new URL(route.path, this.#base).href
    await Promise.all([replicas.seek(), this.#meet(route)])
  }

  #meet({ path, assembly }: Route): Promise<void> {
    return assembly.replicas.meet(this.#others.map((base) => new URL(path, base).href))
  }

  #create(path: string, parts: RouteParts): Route {
    const { ready, guards, metrics, via, listDeadlineMs } = this.#options
    const bus = this.#options.busOf?.(path)
    const server = { ...this.#options.server, ...addressesOf(path), ...(bus && { bus }) }
    const { limits } = server
    const calls = limits?.calls && countedAt(path, limits.calls)
    const counted = calls === undefined ? server : { ...server, limits: { ...limits, calls } }
    const shared = { ready, listDeadlineMs, server: counted, guards, metrics, via, parking: this.#parking }
    const route = new Route({ path, ...parts, ...shared })
    route.assembly.replicas.seeker.isSilent = path !== UNION_PATH // all routes look for the same gateways
    return route
  }

  #serverParts(name: string): RouteParts {
    const backends = (): readonly Backend[] => this.#options.backends().filter((backend) => backend.name === name)
    return {
      scope: { backends, names: () => plainNames(name), view: () => undefined, catalogue: () => 'all' },
      capabilities: EVERYTHING,
      instructions: () => backends()[0]?.about?.instructions,
      alone: () => this.#options.backends().find((backend) => backend.name === name),
    }
  }

  /** Instructions of servers may tell of tools that a view does not have, so it has none. */
  #viewParts(name: string): RouteParts {
    const { backends } = this.#options
    return {
      scope: {
        backends,
        names: () => prefixedNames(this.#names),
        view: () => this.#viewOf(name),
        catalogue: () => this.#viewOf(name).catalogue,
      },
      capabilities: TOOLS_ONLY,
      instructions: () => undefined,
      listMeta: () => absentMeta(backends(), this.#names, this.#viewOf(name)),
    }
  }

  #viewOf(name: string): ViewSettings {
    const { views } = this.#config
    return (Object.hasOwn(views, name) ? views[name] : undefined) ?? REMOVED
  }

  readonly #instructed = ({ name, about }: Backend) => ({
    name,
    prefix: this.#names.prefix(name),
    instructions: about?.instructions,
  })
}

function pathOf(base: string, name: string): string {
  return `${base}/${encodeURIComponent(name)}`
}

/** Calls are counted by the address at which they are made. */
function countedAt(path: string, { begin, end }: CallCounter): CallCounter {
  return {
    begin: (caller, limit) => begin(`${path} ${caller}`, limit),
    end: (caller) => end(`${path} ${caller}`),
  }
}
