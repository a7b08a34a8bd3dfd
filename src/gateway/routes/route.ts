/** One route of the gateway: a server of both eras whose calls are answered by the servers behind it. */
import type { Cluster } from '../../cluster/index.ts'
import {
  assemble,
  type Assembly,
  type Call,
  type Capability,
  DRAIN_MS,
  type FetchHandler,
  fetchHandler,
  keyringOf,
  type ListName,
  type NodeHandler,
  nodeHandler,
  Shutdown,
} from '../../server/internal.ts'
import type { DrainOptions, ServerOptions } from '../../server/index.ts'
import { createMarks, DEFAULT_TTL_SECONDS } from '../../state/seal/index.ts'
import { type Json, settledWithin } from '../../protocol/index.ts'
import type { Backend } from '../backends/backend.ts'
import { PassthroughHandler } from '../passthrough/handler.ts'
import { type ListedTools, RouteDirectory, type RouteScope } from './directory.ts'
import { DrainGate } from './drainGate.ts'
import type { Parking } from '../parking/parking.ts'
import { Tickets } from '../parking/ticket.ts'
import { OwnLists } from './ownLists.ts'
import type { RouteRules } from './rules/routeRules.ts'
import type { GatewayQuestions, HeldCall, HeldInput } from '../questions/index.ts'
import { routeMethods } from './methods.ts'
import { RuledCalls } from './rules/ruledCalls.ts'
import type { BackendTarget } from './contents.ts'
import { TaskIds } from './tasks/owners.ts'
import { RelayedTasks } from './tasks/service.ts'
import { CallRecorder } from '../telemetry/calls.ts'
import type { CallAudit } from '../telemetry/audit.ts'
import type { GatewayMetrics } from '../telemetry/metrics.ts'
import { LoopGuard, type Via } from '../loops.ts'

/** Maximum number of watched resources: each is also watched at its server. */
const MAX_WATCHED = 10_000

/**
 * Debounce of list changes: gateways reload one file at nearly the same time, and their servers take a moment to start.
 */
const DEBOUNCE = { quietMs: 1000, maxMs: 5000 }

const LISTS: readonly ListName[] = ['tools', 'prompts', 'resources']

/** The options that all routes of a gateway share. */
export interface SharedRouteOptions {
  /** Resolves when all servers were tried, or have timed out. */
  readonly ready: () => Promise<void> | undefined
  /** Timeout for the list of a server whose lists differ by caller. */
  readonly listDeadlineMs: number
  readonly server: ServerOptions
  readonly metrics: GatewayMetrics
  /** Absent if no audit log is kept. */
  readonly audit: CallAudit | undefined
  readonly via: Via
  /** The addresses of the other gateways in the database. */
  readonly others: () => Promise<readonly string[]>
  readonly guards: Pick<ServerOptions, 'allowedHosts' | 'allowedOrigins'>
  /** Where calls wait for people; undefined for a gateway without a store. */
  readonly questions: GatewayQuestions | undefined
}

export interface RouteOptions extends SharedRouteOptions {
  /** The path, such as `/mcp/github`. */
  readonly path: string
  readonly scope: RouteScope
  /** The capabilities that the route may ever have. */
  readonly capabilities: ReadonlySet<Capability>
  readonly instructions: () => string | undefined
  /** The `_meta` of its lists. */
  readonly listMeta?: () => Json | undefined
  /** The server of a route with a single one: requests pass through to it as bytes if possible. */
  readonly alone?: () => Backend | undefined
  readonly parking: Parking
  readonly cluster: Cluster
  readonly rules: RouteRules
}

export class Route {
  readonly path: string
  readonly assembly: Assembly
  readonly shutdown: Shutdown
  readonly node: NodeHandler
  readonly fetch: FetchHandler
  readonly #directory: RouteDirectory
  readonly #own: OwnLists
  /** The resources that clients watch, by their address on this route. */
  readonly #watched = new Map<string, BackendTarget>()
  readonly #passthrough: PassthroughHandler | undefined
  readonly #gate: DrainGate
  #ruled: RuledCalls | undefined
  readonly #options: RouteOptions

  constructor(options: RouteOptions) {
    const { path, scope, capabilities, instructions, ready, server, guards, parking, metrics, alone } = options
    this.#options = options
    this.path = path
    const directory = new RouteDirectory(scope)
    const { rules, questions } = options
    const own = new OwnLists({ scope, alone, waitMs: options.listDeadlineMs, common: directory, rules })
    this.#directory = directory
    this.#own = own
    const recorder = new CallRecorder({ route: path, logger: server.logger, metrics, audit: options.audit })
    const keyring = keyringOf(server)
    const audience = `${server.audience ?? server.name} ${path}`
    const { ttlSeconds = DEFAULT_TTL_SECONDS } = server
    const tickets = new Tickets({ keyring, audience, ttlSeconds })
    const ids = new TaskIds(createMarks(keyring, `task ${path}`))
    const addressed = (result: Json, call: Call, backend: Backend): Json =>
      (own.directory(call) ?? directory).addressed(result, backend)
    const tasks = new RelayedTasks({ backends: scope.backends, ids, addressed })
    this.assembly = assemble(
      { ...server, keys: keyring, tasks, audience },
      {
        cluster: options.cluster,
        scope: path,
        handlers: (parts) => {
          tasks.join(parts)
          own.lists = parts.lists
          const shared = { path, parking, tickets, recorder, tasks, addressed, rules, questions, directory, own }
          const ruled = new RuledCalls(shared, parts)
          this.#ruled = ruled
          return routeMethods(shared, parts, ruled)
        },
        ownLists: own.of,
        capabilities,
        watched: { max: MAX_WATCHED, onChange: (uri, isWatched) => this.#watch(uri, isWatched) },
        instructions,
        listMeta: options.listMeta ?? (() => undefined),
        listCaching: (listing) => directory.caching(listing),
        ready,
        debounce: DEBOUNCE,
        keepsState: () => directory.keepsState,
      },
    )
    this.assembly.scope.handleOwned('caller', (key) =>
      scope.backends().some(({ leases }) => leases?.holds(key) === true),
    )
    this.assembly.bus.subscribe((event) => {
      if (event.kind !== 'session-ended') return
      for (const { sender } of scope.backends()) sender.sessionEnded(event.session)
    })
    this.shutdown = new Shutdown(this.assembly, 'debug') // the gateway logs it once for all routes
    this.#passthrough = alone && this.#passthroughTo(alone)
    this.#gate = new DrainGate(this.assembly, this.#passthrough ?? this.assembly.endpoint.handler, options.others)
    const listed = () =>
      scope
        .backends()
        .filter(({ connector }) => connector.condition.kind === 'up')
        .map(({ login }) => login.probedAddress())
    const handler = new LoopGuard({ via: options.via, inner: this.#gate, listed })
    const endpoint = { ...this.assembly.endpoint, handler }
    this.node = nodeHandler(endpoint, guards)
    this.fetch = fetchHandler(endpoint, guards)
  }

  /** Opens the route: clients are notified of changed lists from then on. */
  async open(): Promise<void> {
    await this.assembly.open()
    this.assembly.declaration.reachedBy('http')
  }

  #passthroughTo(backend: () => Backend | undefined): PassthroughHandler {
    const { load, limits, logger: faults, endpoint } = this.assembly
    const { path: route, server, metrics } = this.#options
    return new PassthroughHandler({
      load,
      limits,
      faults,
      inner: endpoint.handler,
      backend,
      rules: this.#options.rules,
      readsAskless: this.#options.questions !== undefined,
      route,
      logger: server.logger,
      metrics,
      audit: this.#options.audit,
    })
  }

  /** `awaited`: resolves when clients can no longer come back. */
  async drain({ deadlineMs = DRAIN_MS, ...options }: DrainOptions, awaited?: Promise<void>): Promise<void> {
    const until = performance.now() + deadlineMs
    const drained = this.shutdown.drain({ ...options, deadlineMs }, awaited)
    this.#passthrough?.close()
    await drained
    await settledWithin(this.#gate.idle(), until - performance.now())
  }

  /** A call that waited, as a run of its task continues it. */
  async held(call: Call, input: HeldInput): Promise<HeldCall> {
    if (this.#ruled === undefined) throw new TypeError('The route is not assembled.')
    return this.#ruled.held(call, input)
  }

  get listedTools(): ListedTools {
    return this.#directory.listedTools
  }

  /** Refreshes the entries from the servers' lists. `areRulesNew`: each list may look different to callers. */
  refresh({ areRulesNew = false }: { readonly areRulesNew?: boolean } = {}): void {
    const { entries, changed } = this.#directory.refresh()
    this.#own.refresh()
    const news = areRulesNew ? LISTS : changed
    if (news.length > 0) this.assembly.registry.replace(entries, news)
  }

  /** Notifies clients that watch a resource of a server that it has changed. */
  updated(backend: Backend, uri: string): void {
    for (const [exposed, watched] of this.#watched)
      if (watched.backend === backend && watched.name === uri)
        this.assembly.bus.publish({ kind: 'updated', uri: exposed })
  }

  /** Watches a resource at its server while clients watch it here. */
  #watch(uri: string, isWatched: boolean): void {
    const target = isWatched ? this.#directory.resource(uri) : this.#watched.get(uri)
    if (target === undefined) return
    if (isWatched) this.#watched.set(uri, target)
    else this.#watched.delete(uri)
    if (isWatched) target.backend.subscriptions.subscribe(target.name)
    else target.backend.subscriptions.unsubscribe(target.name)
  }
}
