/** The gateway: one endpoint for clients of both eras in front of many MCP servers. */
import type { DrainOptions, Listening, Principal, ServerQuestions } from '../server/index.ts'
import { reachableHost } from '../cluster/index.ts'
import {
  assertDrainOptions,
  type Connections,
  drainOnTerm,
  errorDetails,
  keyringOf,
  lineLogger,
  type Logger,
  LoggerSlot,
  type NodeHandler,
  openListener,
  serveStdio,
} from '../server/internal.ts'
import type { Cell } from '../probe/index.ts'
import { backendCells, type GatewayFacts, isReady, measuresOf, type ReadinessFacts, reportOf } from './admin/health.ts'
import { type AdminListening, type AdminListenOptions, listenAdmin, withProbes } from './admin/listen.ts'
import { gatewayConsole } from './console.ts'
import type { ConsoleDesk } from './admin/console/desk.ts'
import { missingKeys, NOT_OPENED, SetupWarnings, unfittingNames } from './setupWarnings.ts'
import { Backend } from './backends/backend.ts'
import { type BackendConfig, type GatewayConfig, namedServers } from './config/index.ts'
import { assertDatabaseUsable, type GatewayDatabase, openDatabase, pinStoreOf } from './database.ts'
import { Definitions } from './definitions.ts'
import { closedInTurn, openReplicaListener, type ReplicaListenOptions } from './listeners.ts'
import { type RouteCatalogue, Routes, UNION_PATH } from './routes/routes.ts'
import type { GatewayListenOptions, GatewayOptions, GatewayReport } from './options.ts'
import { assertGatewayOptions, assertMayListen, guardsOf, principalOf, serverOptions } from './options.ts'
import { listOf, openQuestions } from './questions/index.ts'
import { ServedBackends } from './servedBackends.ts'
import { type CallAudit, openAudit } from './telemetry/audit.ts'
import { GatewayMetrics } from './telemetry/metrics.ts'
import { Via } from './loops.ts'

/** A gateway and its listeners. */
export class Gateway {
  readonly #options: GatewayOptions
  readonly #logger: LoggerSlot
  readonly #via: Via
  readonly #routes: Routes
  readonly #metrics: GatewayMetrics
  readonly #definitions: Definitions
  readonly #database: GatewayDatabase | undefined
  readonly #audit: CallAudit | undefined
  readonly #served: ServedBackends
  /** What this process knows and does for the console. */
  readonly console: ConsoleDesk
  readonly #setupWarnings = new SetupWarnings({
    judged: () => this.judged(),
    others: () => (this.#database === undefined ? this.#routes.knownOthers : 0),
    backends: () => this.backends,
    unfitting: () => unfittingNames({ ...this.#config.settings, names: this.#routes.names, backends: this.backends }),
    siblings: () => this.#options.workers,
    logger: () => this.#logger.current,
  })
  #config: GatewayConfig
  /** Resolves when the address at which other gateways reach this one is known. */
  #reached = Promise.resolve()
  #drained: Promise<void> | undefined
  #admin: AdminListening | undefined
  /** The connections of other gateways, if they use another listener than clients. */
  #replicas: Connections | undefined

  constructor(options: GatewayOptions) {
    assertGatewayOptions(options)
    this.#options = options
    this.#config = options
    this.#logger = new LoggerSlot(options.logger)
    this.#via = new Via(options)
    this.#metrics = new GatewayMetrics(() => ({ servers: this.backends.map(measuresOf), parked: this.#routes.parked }))
    const logger = (): Logger => this.#logger.current
    this.#database = openDatabase(options, {
      address: () => this.#routes.address,
      reached: () => this.#reached,
      logger,
    })
    const [limits, database] = [() => this.#config.settings.limits, this.#database]
    const server = serverOptions(options, this.#logger, { limits, database })
    this.#audit = openAudit(options, keyringOf(server), logger)
    this.#routes = new Routes({
      backends: () => this.backends,
      ready: () => this.#served.ready,
      listDeadlineMs: options.settings.listDeadlineMs,
      server,
      questions: openQuestions(options, server, this.#database, (...held) => this.#routes.held(...held)),
      busOf: options.bus === undefined ? this.#database?.busOf : undefined,
      metrics: this.#metrics,
      audit: this.#audit,
      via: this.#via,
      others: async () => this.#database?.leases.gateway.lookAround() ?? [],
      onUnopened: this.#unopened,
      guards: guardsOf(options.settings),
    })
    const [{ file }, pins] = [options, pinStoreOf(options, this.#database?.pins)]
    const nameOf = (server: string, tool: string): string => this.#routes.names.exposed(server, tool)
    const onAccepted = (): void => void Promise.all(this.backends.map((backend) => backend.lists.recheck()))
    this.#definitions = new Definitions({ file, pins, nameOf, logger, onAccepted })
    this.#served = new ServedBackends(options, (config) => this.#createBackend(config))
    const parts = { metrics: this.#metrics, routes: this.#routes, definitions: this.#definitions, audit: this.#audit }
    const site = { logger, isWorker: options.workers !== undefined, keyring: keyringOf(server) }
    this.console = gatewayConsole({ ...parts, ...site, report: () => this.report(), config: () => this.#config })
    this.#setRoutes()
  }

  /** The servers behind the gateway, in order, with their conditions. */
  get backends(): readonly Backend[] {
    return this.#served.all
  }

  /** The mcp.json file that is served; undefined if the configuration is an object. */
  get file(): string | undefined {
    return this.#config.file
  }

  /** The servers of the configuration that cannot be served, each with the problems of its entry. */
  get leftOut(): GatewayConfig['unusable'] {
    return this.#config.unusable
  }

  /** What clients of the stateless era and of the session era can do with a server; undefined until it was reached. */
  cellsOf(backend: Backend): readonly [Cell, Cell] | undefined {
    return backendCells(backend, this.#facts())
  }

  /** The reason why tools of a server are withheld and cannot be accepted; undefined if there are none. */
  readonly pinFaultOf = (server: string): string | undefined => this.#definitions.faultOf(server)

  get #readiness(): ReadinessFacts {
    return { backends: this.backends, leftOut: this.leftOut, isStopping: this.#drained !== undefined }
  }

  #facts(): GatewayFacts {
    return {
      knowsCallers: principalOf(this.#options) !== undefined,
      gateways: this.#database !== undefined ? 'leased' : this.#routes.knownOthers > 0 ? 'several' : 'one',
    }
  }

  /** The catalogues of `/mcp` and each view, and the bytes that a search of tools saves there. */
  get catalogues(): readonly RouteCatalogue[] {
    return this.#routes.catalogues
  }

  /** Resolves when each server was tried once. */
  tried(): Promise<void> {
    return this.#served.tried()
  }

  /** Resolves when each server was tried, and each reachable one was judged stateful or stateless. */
  judged(): Promise<void> {
    return this.#served.judged()
  }

  /** Connects to all servers and serves them over HTTP, without waiting for any of them. */
  async listen(given: GatewayListenOptions = {}): Promise<Listening> {
    assertMayListen(given, this.#options)
    const { insecure: _, ...options } = { ...given, path: UNION_PATH }
    const { advertise, drainOnTerm: drains = true } = given
    await assertDatabaseUsable(this.#options.settings)
    this.#logger.defaultTo(lineLogger)
    const serve = withProbes(this.nodeHandler(), () => isReady(this.#readiness))
    const { connections, address, port, url, close } = await openListener(options, serve)
    this.#routes.listen(url, this.#replicas === undefined ? connections : closedInTurn(connections, this.#replicas))
    if (drains) drainOnTerm(() => this.drain())
    if (this.#replicas === undefined)
      this.#reached = this.#routes.reach(advertise ?? `http://${reachableHost(address)}:${port}`)
    this.#database?.leases.start()
    await this.#reached
    this.#logger.current.info({ url, servers: this.backends.length }, 'Listening.')
    return { port, url, close }
  }

  /**
   * Opens a second listener, which serves only messages of other gateways: needed if the clients' address leads to any
   * of the gateways. Returns its address; call `listen` afterwards to serve clients.
   */
  async listenForReplicas(options: ReplicaListenOptions): Promise<string> {
    this.#logger.defaultTo(lineLogger) // connecting to servers, from here on, may log that some are down
    const { base, connections } = await openReplicaListener(options, this.nodeHandler())
    this.#replicas = connections
    await this.#routes.reach(base)
    return base
  }

  /** Connects to the gateways at these addresses; resolves when they know each other. */
  meet(addresses: readonly string[]): Promise<void> {
    return this.#routes.meet(addresses)
  }

  /**
   * The questions that wait for people, and those of approvals: for a page or a program of your own. Throws without the
   * setting `store`.
   */
  get questions(): ServerQuestions {
    return listOf(this.#routes.questions)
  }

  /** A handler for `node:http`, Express or Fastify, for all addresses of the gateway. */
  nodeHandler(): NodeHandler {
    this.#start()
    return this.#routes.node
  }

  /** Answers one web-standard request. */
  readonly fetch = async (request: Request): Promise<Response> => {
    this.#start()
    return this.#routes.fetch(request)
  }

  /** Serves all servers on standard input and output until the input ends. */
  async stdio(options: { readonly principal?: Principal } = {}): Promise<void> {
    await assertDatabaseUsable(this.#options.settings)
    this.#logger.defaultTo(lineLogger)
    await this.#routes.questions?.listen()
    this.#start()
    await serveStdio(this.#routes.union.assembly, options, this.#routes.union.shutdown.hosts)
    await this.drain()
  }

  /** Serves health, servers and metrics at the configured admin address; undefined if there is none. */
  async listenAdmin({ metrics }: AdminListenOptions = {}): Promise<AdminListening | undefined> {
    const { admin } = this.#config.settings
    if (admin === false) return undefined
    this.#metrics.refresh()
    const [health, servers] = [() => this.report().health, () => this.report().servers]
    return (this.#admin = await listenAdmin(admin, { health, servers, metrics, ask: this.console.ask }))
  }

  /** The report of the admin address: the gateway's health, and its servers. */
  report(): GatewayReport {
    return reportOf({
      ...this.#readiness,
      pinFaultOf: this.pinFaultOf,
      file: this.file,
      facts: this.#facts(),
      trouble: this.#database?.leases.gateway.trouble,
      missing: this.#routes.missingOthers,
      unfitting: this.#setupWarnings.unfitting,
    })
  }

  /**
   * Applies another configuration. Unchanged servers keep their processes, connections and calls; changed ones get no
   * new calls, and end after their last call or the drain timeout. Of the gateway's own settings, a reload applies
   * views, catalogue, definitions, limits and `stateful`; the others apply from the next start.
   */
  async reload(config: GatewayConfig): Promise<void> {
    this.#config = config
    const left = this.#served.replace(config)
    this.#setRoutes()
    if (this.#served.hasStarted) this.#setupWarnings.watch()
    await this.#served.retire(left)
  }

  /** Lets calls finish, then ends all processes and sessions. */
  drain(options: DrainOptions = {}): Promise<void> {
    assertDrainOptions(options)
    this.#drained ??= this.#drain(options)
    return this.#drained
  }

  async #drain(options: DrainOptions): Promise<void> {
    this.#logger.current.info(this.#routes.underWay, 'Draining.')
    this.#definitions.close()
    this.#metrics.close()
    this.#setupWarnings.close()
    const drained = this.#routes.drain(options) // stops taking new calls
    await this.#database?.leases.gateway.stopping()
    for (const backend of this.backends) backend.sender.handOff()
    await drained
    await Promise.all([this.#served.close(), this.#admin?.close()])
    await this.#database?.close()
    this.#audit?.close()
    this.#logger.current.info(this.#routes.underWay, 'Drained.')
  }

  #setRoutes(): void {
    this.#routes.set({ ...this.#config.settings, named: namedServers(this.#config), served: this.#served.names })
  }

  #createBackend(config: BackendConfig): Backend {
    return new Backend({
      config,
      logger: () => this.#logger.current,
      via: this.#via,
      credentials: this.#options.credentials,
      authorizer: this.#options.authorizer,
      file: this.#config.file,
      rejectsStateful: () => this.#config.settings.stateful === 'reject',
      ...this.#routes.hooks,
      withheldOf: (_, tools) => this.#definitions.withheldOf(config, tools),
      leases: this.#database?.leases,
    })
  }

  #start(): void {
    if (this.#served.hasStarted) return
    this.#served.start(this.#options.settings.listDeadlineMs)
    this.#metrics.refresh()
    this.#routes.open().catch(this.#unopened)
    const keysWarning = missingKeys(this.#options)
    if (keysWarning !== undefined) this.#logger.current.warn({}, keysWarning)
    this.#setupWarnings.watch()
  }

  readonly #unopened = (error: unknown): void => this.#logger.current.error({ err: errorDetails(error) }, NOT_OPENED)
}

/** A gateway for the servers of a configuration. It connects to them when it listens. */
export function createGateway(options: GatewayOptions): Gateway {
  return new Gateway(options)
}
