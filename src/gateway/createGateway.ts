/** The gateway: one endpoint for clients of both eras in front of many MCP servers. */
import type { DrainOptions, Listening, ListenOptions, Principal, ServerOptions } from '../server/index.ts'
import { bearer } from '../server/index.ts'
import {
  drainOnTerm,
  errorDetails,
  isLocalHost,
  type Logger,
  LoggerSlot,
  type NodeHandler,
  openListener,
  pathOf,
  reachableHost,
  refusal,
  send,
  serveStdio,
} from '../server/internal.ts'
import { unref } from '../protocol/index.ts'
import type { Cell } from '../probe/index.ts'
import { memoryRates } from '../state/stores/index.ts'
import { backendCells, type GatewayFacts } from './admin/cells.ts'
import { type AdminListening, type AdminListenOptions, listenAdmin } from './admin/listen.ts'
import { measuresOf } from './admin/measures.ts'
import { Backend } from './backends/backend.ts'
import type { CredentialsHook } from './backends/credentials.ts'
import type { AuthorizerHook } from './backends/login.ts'
import { createNames } from './catalog/index.ts'
import { type BackendConfig, difference, type GatewayConfig, namedServers } from './config/index.ts'
import { Definitions } from './definitions.ts'
import { type RouteCatalogue, Routes, UNION_PATH, VIEWS_PATH } from './routes/routes.ts'
import { GatewayMetrics } from './telemetry/metrics.ts'
import { GATEWAY_INFO } from './version.ts'

export interface GatewayOptions
  extends GatewayConfig,
    Pick<ServerOptions, 'logger' | 'principal' | 'keys' | 'bus' | 'ledger' | 'store'> {
  /** Gives the credentials of a caller for a server, beside those in its entry. @default none */
  readonly credentials?: CredentialsHook
  /** Gives the login of whoever runs the gateway at a server, which all callers share. @default none */
  readonly authorizer?: AuthorizerHook
}

export interface GatewayListenOptions extends Pick<ListenOptions, 'host' | 'port' | 'advertise' | 'drainOnTerm'> {
  /** Whether callers may come from other machines without authentication. @default false */
  insecure?: boolean
}

const HOUR_SECONDS = 3600

const NOT_FOUND = refusal(
  404,
  `All servers are at ${UNION_PATH}, one of them at ${UNION_PATH}/NAME, and a view at ${VIEWS_PATH}/NAME.`,
)

export class Gateway {
  readonly #options: GatewayOptions
  readonly #logger: LoggerSlot
  readonly #routes: Routes
  readonly #metrics: GatewayMetrics
  readonly #definitions: Definitions
  #config: GatewayConfig
  #backends: readonly Backend[] = []
  #deadline: Promise<void> | undefined
  #isReady = false
  #drained: Promise<void> | undefined
  #admin: AdminListening | undefined

  constructor(options: GatewayOptions) {
    this.#options = options
    this.#config = options
    this.#logger = new LoggerSlot(options.logger)
    this.#metrics = new GatewayMetrics(() => ({
      servers: this.#backends.map(measuresOf),
      parked: this.#routes.parked,
    }))
    const { allowedHosts, allowedOrigins, listDeadlineMs } = options.settings
    this.#routes = new Routes({
      backends: () => this.#backends,
      ready: () => (this.#isReady ? undefined : this.#deadline),
      listDeadlineMs,
      server: this.#serverOptions(),
      metrics: this.#metrics,
      onUnopened: this.#unopened,
      guards: {
        ...(allowedHosts && { allowedHosts: [...allowedHosts] }),
        ...(allowedOrigins && { allowedOrigins: [...allowedOrigins] }),
      },
    })
    this.#definitions = new Definitions({
      file: options.file,
      nameOf: (server, tool) => createNames(namedServers(this.#config)).exposed(server, tool),
      logger: () => this.#logger.current,
      onAccepted: () => void Promise.all(this.#backends.map((backend) => backend.recheck())),
    })
    this.#backends = servedBy(options).map((config) => this.#createBackend(config))
    this.#setRoutes()
  }

  /** The servers behind the gateway, in order, and how each of them is. */
  get backends(): readonly Backend[] {
    return this.#backends
  }

  /** The servers of the configuration that cannot be served, each with what is wrong in its entry. */
  get leftOut(): GatewayConfig['unusable'] {
    return this.#config.unusable
  }

  /** What clients of the stateless era, and of the session era, can do with a server; undefined until it was reached. */
  cellsOf(backend: Backend): readonly [Cell, Cell] | undefined {
    return backendCells(backend, this.#facts())
  }

  #facts(): GatewayFacts {
    return { knowsCallers: this.#principal !== undefined, gateways: this.#routes.hasOthers ? 'several' : 'one' }
  }

  /** What is listed at `/mcp` and in each view, and what a search of tools saves there. */
  get catalogues(): readonly RouteCatalogue[] {
    return this.#routes.catalogues
  }

  /** Resolves when each server was tried once. */
  async tried(): Promise<void> {
    await Promise.all(this.#backends.map(({ tried }) => tried))
  }

  /** Resolves when each server was tried, and it is known of those that are there whether they keep something. */
  async judged(): Promise<void> {
    await Promise.all(this.#backends.map((backend) => backend.judged()))
  }

  /** Connects to all servers, and serves them over HTTP. Waits for none of them. */
  async listen({ insecure = false, ...options }: GatewayListenOptions = {}): Promise<Listening> {
    const { host = '127.0.0.1', advertise, drainOnTerm: drains = true } = options
    if (!insecure && !isLocalHost(host) && this.#principal === undefined) throw new TypeError(NO_AUTHENTICATION)
    await this.#logger.defaultToPino(2)
    const listener = await openListener({ ...options, path: UNION_PATH }, this.nodeHandler())
    const { connections, address, port, url, close } = listener
    if (drains) drainOnTerm(() => this.drain())
    await this.#routes.listen(connections, advertise ?? `http://${reachableHost(address)}:${port}`)
    this.#logger.current.info({ url, servers: this.#backends.length }, 'Listening.')
    return { port, url, close }
  }

  /** A handler for `node:http`, Express or Fastify, for all addresses of the gateway. */
  nodeHandler(): NodeHandler {
    this.#start()
    return (req, res) => {
      const route = this.#routes.at(pathOf(req))
      if (route === undefined) send(res, NOT_FOUND)
      else route.node(req, res)
    }
  }

  /** Answers one web-standard request. */
  readonly fetch = async (request: Request): Promise<Response> => {
    this.#start()
    const route = this.#routes.at(new URL(request.url).pathname)
    if (route !== undefined) return route.fetch(request)
    return new Response(NOT_FOUND.body ?? null, { status: 404, headers: { 'content-type': 'application/json' } })
  }

  /** Serves all servers on standard input and output until the input ends. */
  async stdio(options: { readonly principal?: Principal } = {}): Promise<void> {
    await this.#logger.defaultToPino(2)
    this.#start()
    const { assembly, shutdown } = this.#routes.union
    await serveStdio(assembly, options, shutdown.hosts)
    await this.drain()
  }

  /** Serves health, servers and metrics at the admin address of the configuration; undefined where it has none. */
  async listenAdmin({ metrics }: AdminListenOptions = {}): Promise<AdminListening | undefined> {
    const { admin } = this.#config.settings
    if (admin === false) return undefined
    this.#metrics.refresh()
    this.#admin = await listenAdmin(admin, {
      backends: () => this.#backends,
      leftOut: () => this.leftOut,
      facts: () => this.#facts(),
      metrics,
    })
    return this.#admin
  }

  /** Serves what another configuration says. What did not change keeps its processes, connections and calls. */
  async reload(config: GatewayConfig): Promise<void> {
    const same = new Set(difference(this.#config, config).same.map(({ name }) => name))
    const kept = new Map(this.#backends.map((backend) => [backend.name, backend]))
    const before = this.#backends
    this.#config = config
    this.#backends = servedBy(config).map((server) => {
      const backend = same.has(server.name) ? kept.get(server.name) : undefined
      return backend ?? this.#createBackend(server)
    })
    const added = this.#backends.filter((backend) => !before.includes(backend))
    if (this.#deadline !== undefined) for (const backend of added) backend.start()
    this.#setRoutes()
    await Promise.all(before.filter((backend) => !this.#backends.includes(backend)).map((backend) => backend.close()))
  }

  /** Lets calls finish, and then ends all processes and sessions. */
  drain(options: DrainOptions = {}): Promise<void> {
    this.#drained ??= this.#drain(options)
    return this.#drained
  }

  async #drain(options: DrainOptions): Promise<void> {
    this.#definitions.close()
    this.#metrics.close()
    await this.#routes.drain(options)
    await Promise.all([...this.#backends.map((backend) => backend.close()), this.#admin?.close()])
  }

  #setRoutes(): void {
    this.#routes.set({
      named: namedServers(this.#config),
      served: this.#backends.map(({ name }) => name),
      views: this.#config.settings.views,
      catalogue: this.#config.settings.catalogue,
    })
  }

  #createBackend(config: BackendConfig): Backend {
    return new Backend({
      config,
      logger: () => this.#logger.current,
      credentials: this.#options.credentials,
      authorizer: this.#options.authorizer,
      file: this.#config.file,
      rejectsStateful: () => this.#config.settings.stateful === 'reject',
      onOffer: () => this.#routes.refresh(),
      withheldOf: (_, tools) => this.#definitions.withheldOf(config, tools),
      onUpdated: (backend, uri) => this.#routes.updated(backend, uri),
    })
  }

  #serverOptions(): ServerOptions {
    const { keys = this.#options.settings.keys, bus, ledger, store, settings } = this.#options
    const principal = this.#principal
    const hasLimits = Object.keys(settings.limits).length > 0
    return {
      ...GATEWAY_INFO,
      // Whoever answers too late can still be told so.
      ttlSeconds: Math.max(...this.#options.servers.map(({ settings }) => settings.parkSeconds), 0) + HOUR_SECONDS,
      logger: passing(this.#logger),
      ...(principal && { principal }),
      // One count for all addresses.
      ...(hasLimits && { limits: { ...settings.limits, store: memoryRates() } }),
      ...(keys !== undefined && { keys }),
      ...(bus && { bus }),
      ...(ledger && { ledger }),
      ...(store && { store }),
    }
  }

  get #principal(): ServerOptions['principal'] {
    const { principal, settings } = this.#options
    return principal ?? (settings.principal && bearer(settings.principal))
  }

  #start(): void {
    if (this.#deadline !== undefined) return
    for (const backend of this.#backends) backend.start()
    this.#metrics.refresh()
    this.#routes.open().catch(this.#unopened)
    this.#deadline = this.#firstTries()
  }

  readonly #unopened = (error: unknown): void => this.#logger.current.error({ err: errorDetails(error) }, NOT_OPENED)

  /** Lists wait for servers that are still starting, but not for long. */
  async #firstTries(): Promise<void> {
    const { listDeadlineMs } = this.#options.settings
    const late = new Promise((resolve) => unref(setTimeout(resolve, listDeadlineMs)))
    await Promise.race([this.tried(), late])
    this.#isReady = true
  }
}

const NOT_OPENED =
  'Clients are not told when lists change, and other instances are not heard: the bus could not be opened.'

const NO_AUTHENTICATION =
  'Whoever reaches this address could use every server behind the gateway. Say who may, with "principal" under "gateway" in the file; or serve everyone with "insecure" (--insecure).'

function servedBy({ servers }: GatewayConfig): readonly BackendConfig[] {
  return servers.filter(({ settings }) => !settings.disabled)
}

/** The log of the gateway, also once it has its default. */
function passing(slot: LoggerSlot): Logger {
  return {
    debug: (details, message) => slot.current.debug(details, message),
    info: (details, message) => slot.current.info(details, message),
    warn: (details, message) => slot.current.warn(details, message),
    error: (details, message) => slot.current.error(details, message),
  }
}

export function createGateway(options: GatewayOptions): Gateway {
  return new Gateway(options)
}
