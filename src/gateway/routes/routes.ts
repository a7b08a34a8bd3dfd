/**
 * The routes of a gateway: `/mcp` for all servers, `/mcp/NAME` for each, and `/views/NAME` for a selection of tools.
 */
import { type HeaderReader, ProtocolError } from '../../protocol/index.ts'
import type { DrainOptions, EventBus } from '../../server/index.ts'
import type { Cluster, MissingPeer } from '../../cluster/index.ts'
import {
  authenticatorAt,
  type Call,
  type CallCounter,
  type Capability,
  type Connections,
  DRAIN_MS,
  keyringOf,
} from '../../server/internal.ts'
import type { Backend, BackendOptions } from '../backends/backend.ts'
import { type CatalogNames, createNames, type NamedServer } from '../catalog/index.ts'
import type { GatewaySettings, ViewSettings } from '../config/index.ts'
import { absentMeta, unionInstructions } from './descriptions.ts'
import { SharedListener } from '../listeners.ts'
import { clusterUrl, gatewayCluster, UNION_PATH } from '../cluster.ts'
import type { ListedTools } from './directory.ts'
import { dispatchFetch, dispatchNode, VIEWS_PATH } from './dispatch.ts'
import type { GatewayQuestions, HeldCall, HeldInput } from '../questions/index.ts'
import { Parking } from '../parking/parking.ts'
import { FormerRoutes } from './former.ts'
import { plainNames, prefixedNames } from './names.ts'
import { Route, type RouteOptions, type SharedRouteOptions } from './route.ts'
import { RouteRules } from './rules/routeRules.ts'
import { type RuleSettings, Rules } from '../rules/index.ts'

export { UNION_PATH }

const EVERYTHING: ReadonlySet<Capability> = new Set(['tools', 'prompts', 'resources', 'completions'])
/** A removed view offers nothing to clients that are still connected. */
const REMOVED: ViewSettings = { tools: [], deny: ['*'], rename: {}, descriptions: {}, catalogue: 'all' }
const TOOLS_ONLY: ReadonlySet<Capability> = new Set(['tools'])

export interface RoutesOptions extends SharedRouteOptions {
  /** The servers behind the gateway, in order. */
  readonly backends: () => readonly Backend[]
  /** The event bus of a route, if each route has its own. */
  readonly busOf: ((path: string) => EventBus) | undefined
  /** Called when a route that was added later could not be opened. */
  readonly onUnopened: (error: unknown) => void
}

/** The configuration that determines the routes. */
export interface RoutesConfig extends RuleSettings, Pick<GatewaySettings, 'views' | 'catalogue' | 'limits'> {
  /** All servers that names depend on. */
  readonly named: readonly NamedServer[]
  /** The names of served servers. */
  readonly served: readonly string[]
}

export interface RouteCatalogue extends ListedTools {
  readonly path: string
}

type RouteParts = Pick<RouteOptions, 'scope' | 'capabilities' | 'instructions' | 'listMeta' | 'alone'>

export class Routes {
  readonly union: Route
  /** Where calls wait for people; undefined without a store. */
  readonly questions: GatewayQuestions | undefined
  readonly #cluster: Cluster
  readonly #options: RoutesOptions
  readonly #byPath = new Map<string, Route>()
  readonly #former = new FormerRoutes<Route>()
  /** A call comes back to its own route; the quota is shared by all routes. */
  readonly #parking = new Parking()
  /** Callbacks from servers to routes. */
  readonly hooks: Pick<BackendOptions, 'onLists' | 'onUpdated' | 'evictParked'> = {
    onLists: () => this.refresh(),
    onUpdated: (backend, uri) => {
      for (const route of this.#byPath.values()) route.updated(backend, uri)
    },
    evictParked: ({ name }, caller) => this.#parking.evictFor(caller, name),
  }
  #config: RoutesConfig = { named: [], served: [], views: {}, catalogue: 'all', limits: {} }
  /** The same object until a reload changes a rule. */
  #rules = new Rules({})
  #names: CatalogNames = createNames([])
  #listener: SharedListener | undefined
  /** Resolves when clients can no longer come back with answers. */
  #settled: Promise<void> | undefined
  #isOpen = false

  constructor(options: RoutesOptions) {
    this.questions = options.questions
    const keyring = keyringOf(options.server)
    this.#options = { ...options, server: { ...options.server, keys: keyring } }
    this.#cluster = gatewayCluster(options.server, keyring)
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

  /** The names of servers' tools at `/mcp`. */
  get names(): CatalogNames {
    return this.#names
  }

  /** Answers a request of `node:http`. */
  readonly node = dispatchNode((...at) => this.#served(...at))
  /** Answers a web-standard request. */
  readonly fetch = dispatchFetch((...at) => this.#served(...at))

  /** The handler of a path: the pages of questions, or a route. */
  #served(path: string, header: HeaderReader): Pick<Route, 'node' | 'fetch'> | undefined {
    return this.questions?.isPage(path) === true ? this.questions : this.#at(path, header)
  }

  /** The route at a path, or whose metadata document is there. `header`: reads the request's headers. */
  #at(path: string, header: HeaderReader): Route | undefined {
    const plain = path.endsWith('/') ? path.slice(0, -1) : path
    const hasDocument = ({ assembly }: Route): boolean => assembly.endpoint.documents.has(path)
    return this.#byPath.get(plain) ?? this.#former.at(plain, header) ?? this.#all.find(hasDocument)
  }

  /** Applies a configuration. Routes that stay keep their calls and connections. */
  set(config: RoutesConfig): void {
    const rules = this.#rules.changedTo(config)
    const areRulesNew = rules !== this.#rules
    this.#rules = rules
    this.#config = config
    this.#names = createNames(config.named)
    const wanted = new Map<string, () => RouteParts>([
      ...config.served.map((name) => [routePath(UNION_PATH, name), () => this.#serverParts(name)] as const),
      ...Object.keys(config.views).map((name) => [routePath(VIEWS_PATH, name), () => this.#viewParts(name)] as const),
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
      if (this.#isOpen) route.open().catch(this.#options.onUnopened)
    }
    for (const { assembly } of this.#all) assembly.limits?.set(config.limits)
    for (const route of this.#all) route.refresh({ areRulesNew })
  }

  /** Serves all routes by this listener, which closes when no route needs it any more. */
  listen(url: string, connections: Pick<Connections, 'announceClose' | 'close'>): void {
    this.questions?.listensAt(url)
    this.#listener = new SharedListener(connections, () => this.#settled)
    for (const route of this.#byPath.values()) route.shutdown.addListener(this.#listener.join())
  }

  /** Sets the address at which other gateways reach this one. Resolves when the configured peers were tried. */
  async reach(base: string): Promise<void> {
    const { self } = this.#cluster
    // The check is not awaited: a proxy may forward to this gateway only once it serves.
    if (self.url !== undefined) void this.#cluster.checkAddress()
    self.url ??= clusterUrl(base)
    await this.#cluster.seek()
  }

  /** Connects to the gateways at these addresses; resolves when they know each other. */
  async meet(bases: readonly string[]): Promise<void> {
    await this.#cluster.meet(bases.map(clusterUrl))
  }

  /** The address at which other gateways reach this one, as far as known. */
  get address(): string | undefined {
    const { url } = this.#cluster.self
    return url === undefined ? undefined : new URL(url).origin
  }

  refresh(): void {
    for (const route of this.#all) route.refresh()
  }

  get #all(): readonly Route[] {
    return [...this.#byPath.values(), ...this.#former.all]
  }

  /** The catalogues with tools of many servers: `/mcp` and views. */
  get catalogues(): readonly RouteCatalogue[] {
    const isCatalogue = ({ path }: Route): boolean => path === UNION_PATH || path.startsWith(`${VIEWS_PATH}/`)
    return [...this.#byPath.values()].filter(isCatalogue).map(({ path, listedTools }) => ({ path, ...listedTools }))
  }

  /** The number of calls that wait for an answer of their callers. */
  get parked(): number {
    return this.#parking.waiting
  }

  /** The number of other gateways known; infinite if some are configured. */
  get knownOthers(): number {
    const { PANNIER_PEERS: configured = '' } = process.env
    return configured === '' ? this.#cluster.members.known().length : Number.POSITIVE_INFINITY
  }

  /** Configured peer addresses with no gateway that this one can work with. */
  get missingOthers(): readonly MissingPeer[] {
    return this.#cluster.discovery.missing
  }

  /** A call that waited, at the route where it was made. */
  async held(call: Call, input: HeldInput): Promise<HeldCall> {
    const route = this.#byPath.get(input.route)
    if (route === undefined) throw new ProtocolError('PARAMS_INVALID', 'The address of this call is no longer served.')
    return route.held(call, input)
  }

  /** The calls in flight, and those that wait for their clients. */
  get underWay(): { readonly inFlight: number; readonly waiting: number } {
    const inFlight = this.#all.reduce((sum, { assembly }) => sum + assembly.load.inFlight, 0)
    return { inFlight, waiting: this.parked }
  }

  async open(): Promise<void> {
    this.#isOpen = true
    this.questions?.open()
    await Promise.all(Array.from(this.#byPath.values(), (route) => route.open()))
  }

  async drain(options: DrainOptions): Promise<void> {
    const { deadlineMs = DRAIN_MS } = options
    this.#settled = this.#parking.drain(deadlineMs / 2, () => this.#idle(deadlineMs / 2))
    // On standard input and output no client can come back after the end of the input.
    const awaited = this.#listener === undefined ? undefined : this.#settled
    await Promise.all([...this.#all.map((route) => route.drain(options, awaited)), this.questions?.drain(options)])
  }

  /** Resolves when no call is in flight, or after this time. */
  async #idle(withinMs: number): Promise<void> {
    await Promise.all(this.#all.map(({ assembly }) => assembly.load.drain(withinMs)))
  }

  #create(path: string, parts: RouteParts): Route {
    const bus = this.#options.busOf?.(path)
    const { principal } = this.#options.server
    const own = principal && { principal: authenticatorAt(principal, UNION_PATH, path) }
    const server = { ...this.#options.server, ...own, ...(bus && { bus }) }
    const { limits } = server
    const calls = limits?.calls && countedAt(path, limits.calls)
    const counted = calls === undefined ? server : { ...server, limits: { ...limits, calls } }
    const ownTool = this.questions?.continueTool
    return new Route({
      ...this.#options,
      ...parts,
      scope: { ...parts.scope, ownTool },
      path,
      server: counted,
      parking: this.#parking,
      cluster: this.#cluster,
      rules: new RouteRules({ rules: () => this.#rules, names: () => this.#names, view: viewAt(path) }),
    })
  }

  #serverParts(name: string): RouteParts {
    const backends = (): readonly Backend[] => this.#options.backends().filter((backend) => backend.name === name)
    return {
      scope: { backends, names: () => plainNames(name), view: () => undefined, catalogue: () => 'all' },
      capabilities: EVERYTHING,
      instructions: () => backends()[0]?.connector.about?.instructions,
      alone: () => this.#options.backends().find((backend) => backend.name === name),
    }
  }

  /** A view has no instructions: those of servers may mention tools outside of the view. */
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

  readonly #instructed = ({ name, connector: { about } }: Backend) => ({
    name,
    prefix: this.#names.prefix(name),
    instructions: about?.instructions,
  })
}

/** The name of the view at a path; empty at the others. */
function viewAt(path: string): string {
  return path.startsWith(`${VIEWS_PATH}/`) ? decodeURIComponent(path.slice(VIEWS_PATH.length + 1)) : ''
}

function routePath(base: string, name: string): string {
  return `${base}/${encodeURIComponent(name)}`
}

/** Counts calls separately for each route. */
function countedAt(path: string, { begin, end }: CallCounter): CallCounter {
  return {
    begin: (caller, limit) => begin(`${path} ${caller}`, limit),
    end: (caller) => end(`${path} ${caller}`),
  }
}
