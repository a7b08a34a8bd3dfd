/** One server behind the gateway: which requests it gets, and over which of its links. */
import { type Era, type Json, settledWithin } from '../../protocol/index.ts'
import type { Logger } from '../../server/internal.ts'
import type { BackendConfig } from '../config/index.ts'
import { BackendError, REJECTED, WITHHELD } from '../errors.ts'
import { API_URL, ApiServer } from './apiServer.ts'
import { Connector } from './connector.ts'
import { CallerCredentials, type CredentialsHook } from './credentials.ts'
import { LISTS_MAY_DIFFER } from './lists/changes.ts'
import { BackendSender } from './sender.ts'
import { BackgroundProber, contradict } from './prober.ts'
import type { LinkOptions } from '../links/link.ts'
import { type AuthorizerHook, OperatorLogin } from './login.ts'
import type { BackendLists } from './lists/backendLists.ts'
import { ListsByCaller } from './lists/listsByCaller.ts'
import { quotaCaller } from '../links/callers.ts'
import type { Relayed } from '../links/relayed.ts'
import type { Leases } from '../placement/leases.ts'
import type { ServerLeases } from '../placement/serverLeases.ts'
import { BackendLimits, linkLimits } from './limits.ts'
import { isStateful, type JudgedServer, keepingOf, mayShareLinks } from './linkPool/sharing.ts'
import { BackendSubscriptions } from './subscriptions.ts'
import { Upstreams } from '../upstreams/upstreams.ts'
import type { Via } from '../loops.ts'

export interface BackendOptions {
  readonly logger: () => Logger
  readonly config: BackendConfig
  /** The gateway's name in `Via`. */
  readonly via: Via
  /** Looks up credentials of callers, beside those in the configuration. */
  readonly credentials: CredentialsHook | undefined
  readonly authorizer: AuthorizerHook | undefined
  /** The file with the server's entry, if any. */
  readonly file: string | undefined
  readonly rejectsStateful: () => boolean
  /** Called when the lists have changed or the server has come up. */
  readonly onLists: (backend: Backend) => void
  /** Compares the definitions of its tools with the pinned ones; returns the names of withheld tools. */
  readonly withheldOf: (backend: Backend, tools: readonly Json[]) => Promise<ReadonlySet<string>>
  readonly onUpdated: (backend: Backend, uri: string) => void
  /** The leases of callers, where gateways share them. */
  readonly leases?: Leases | undefined
  /** Evicts a parked call of this server for a call of this caller; false if none may be evicted. */
  readonly evictParked?: (backend: Backend, caller: string) => boolean
}

export class Backend {
  readonly name: string
  readonly config: BackendConfig
  readonly #options: BackendOptions
  /** The gateway's own link. */
  readonly connector: Connector
  readonly lists: BackendLists
  /** The links of callers. */
  readonly sender: BackendSender
  readonly prober: BackgroundProber
  readonly limits: BackendLimits
  /** Subscriptions to the resources that callers watch. */
  readonly subscriptions = new BackendSubscriptions((method, params) => this.#notified(method, params))
  readonly credentials: CallerCredentials
  readonly login: OperatorLogin
  /** The server's lists for callers with their own credentials. */
  readonly listsByCaller: ListsByCaller
  /** The leases of its callers, where gateways share them. */
  readonly leases: ServerLeases | undefined
  readonly upstreams: Upstreams | undefined
  /** The server of an OpenAPI document, which runs in this process. */
  readonly #api: ApiServer | undefined
  /** Time of the first attempt, in milliseconds of the process. */
  #startedAt = performance.now()

  constructor(options: BackendOptions) {
    const { config, logger } = options
    const { name } = config
    this.#options = options
    this.config = config
    this.name = name
    this.limits = new BackendLimits(config, (caller) => options.evictParked?.(this, caller) === true)
    this.credentials = new CallerCredentials({ config, logger, hook: options.credentials })
    this.login = new OperatorLogin(options)
    this.listsByCaller = new ListsByCaller(config.settings.listSeconds * 1000)
    this.#api = ApiServer.of(config, logger)
    this.upstreams = this.#createUpstreams()
    this.connector = this.#createConnector()
    this.lists = this.connector.lists
    this.prober = new BackgroundProber({
      server: name,
      address: () => this.login.probedAddress(),
      logger,
      onVerdict: () => options.onLists(this),
    })
    this.sender = this.#createSender()
    this.leases = this.sender.leases
  }

  #createUpstreams(): Upstreams | undefined {
    const { config, via } = this.#options
    const { maxMessageBytes } = linkLimits(config)
    const { address, settings } = config
    if (this.#api !== undefined) return new Upstreams([API_URL], via, maxMessageBytes, this.#api.connect)
    return 'url' in address ? new Upstreams([address.url, ...settings.urls], via, maxMessageBytes) : undefined
  }

  /** Reads the document of the server again, if it has one. Never throws; unreadable lists change nothing. */
  async reread(): Promise<void> {
    await this.#api?.reread()
  }

  #createConnector(): Connector {
    const { config, onLists, withheldOf } = this.#options
    return new Connector({
      config,
      logger: this.#options.logger,
      link: this.#linkOptions(),
      demand: () => this.login.demand(),
      prepare: async () => this.#api?.load(this.connector.stopped),
      onLink: (link) => {
        this.subscriptions.use(link)
        this.prober.sawVersion(link.about.info)
      },
      onLists: () => onLists(this),
      withheldOf: (tools) => withheldOf(this, tools),
    })
  }

  #createSender(): BackendSender {
    const { config, leases } = this.#options
    return new BackendSender({
      config,
      leases,
      connector: this.connector,
      link: this.#linkOptions(),
      isShared: () => this.isShared,
      keeping: () => keepingOf(judgedServer(this)),
      mayWarm: () => !this.isShared && !this.credentials.mayDiffer,
      logger: this.#options.logger,
      evictParked: (caller) => this.limits.evictParked(caller),
      onContradicted: () => {
        this.prober.doubt()
        this.connector.reconnect('it asks for a session that it did not need before.')
      },
      onOpened: (link) => {
        const { link: own } = this.connector
        if (own !== undefined && contradict(own, link) && this.prober.doubt())
          this.connector.reconnect('it is another version than before.')
      },
    })
  }

  /** Connects and stays connected, with unlimited retries. */
  start(): void {
    this.#startedAt = performance.now()
    void this.connector.run()
    void this.prober.start(this.config.settings.state, this.connector.tried, this.connector.stopped)
  }

  /** Resolves when the server was reached, the first attempt has failed, or the time is up. */
  triedWithin(limitMs: number): Promise<void> {
    return settledWithin(this.connector.tried, this.#startedAt + limitMs - performance.now())
  }

  /** Resolves when it is known whether the server is stateful, or that this cannot be known now. */
  async judged(): Promise<void> {
    await Promise.all([this.connector.tried, this.prober.judged])
  }

  /** Whether the server is known to keep state between calls. */
  get keepsState(): boolean {
    return isStateful(judgedServer(this))
  }

  get isShared(): boolean {
    return mayShareLinks(judgedServer(this))
  }

  /**
   * Whether each caller sees its own lists of the server. With pinned definitions all see the lists that were compared.
   */
  get listsDiffer(): boolean {
    return this.credentials.mayDiffer && this.config.settings.definitions === 'warn'
  }

  /**
   * The server's era; a server that was never reached counts as stateless-era. A session-era server asks in the middle
   * of a call.
   */
  get era(): Era {
    return this.connector.about === undefined || !this.connector.declaresOnLinks ? 'modern' : 'legacy'
  }

  /** Whether the server learns its client's capabilities only when a link is opened. */
  get declaresOnLinks(): boolean {
    return this.connector.declaresOnLinks
  }

  /** Whether the gateway refuses this server as stateful (DT-23). */
  get isRejected(): boolean {
    return this.#options.rejectsStateful() && this.keepsState
  }

  /** Whether the server is refused as stateful, or may be once it is judged. */
  get mayBeRejected(): boolean {
    return this.#options.rejectsStateful() && (this.prober.verdict === undefined || this.isRejected)
  }

  async request(relayed: Relayed): Promise<Json> {
    await this.connector.tried
    if (this.#options.rejectsStateful()) await this.judged()
    if (this.isRejected) throw new BackendError('BACKEND_REFUSED', this.name, REJECTED)
    if (this.config.settings.definitions !== 'warn' && relayed.method === 'tools/call') this.#assertServed(relayed)
    const leave = await this.limits.entered(quotaCaller(relayed))
    try {
      const credentials = await this.credentials.of(relayed)
      const sent = this.sender.send({ ...relayed, credentials })
      const result = await (credentials === undefined ? sent.catch((error: unknown) => this.#explained(error)) : sent)
      this.limits.assertTaken(result)
      return result
    } finally {
      leave()
    }
  }

  /** Adds to a refusal which credentials the server needs and the gateway does not have. */
  #explained(error: unknown): never {
    const { demanded } = this.connector
    if (demanded === undefined || !(error instanceof BackendError && error.reason === 'BACKEND_REFUSED')) throw error
    throw new BackendError('BACKEND_REFUSED', this.name, `${demanded.why} ${demanded.advice}`, { cause: error })
  }

  /** Tool definitions must be compared before a tool runs, so the server must have been reached. */
  #assertServed({ params }: Relayed): void {
    if (this.connector.about === undefined) this.connector.openedLink()
    if (this.lists.withheld.has(String(params['name']))) throw new BackendError('BACKEND_REFUSED', this.name, WITHHELD)
  }

  async close(): Promise<void> {
    this.prober.skip()
    this.subscriptions.close()
    await Promise.all([this.sender.close(), this.connector.close()])
    this.upstreams?.close()
    await this.#api?.close()
  }

  #linkOptions(): Omit<LinkOptions, 'signal'> {
    return {
      server: this.name,
      via: this.#options.via,
      upstreams: this.upstreams,
      declared: {},
      credentials: undefined,
      authorizer: () => this.login.authorizer(),
      callers: 'all',
      ...linkLimits(this.config),
      onNotification: (method, params) => this.#notified(method, params),
      onClosed: () => {},
      onEnded: (why, printed) =>
        this.#options
          .logger()
          .warn({ server: this.name, why, printed }, 'The process of a server has ended by itself.'),
      masked: this.config.variableValues,
      onLog: (line) => this.#options.logger().debug({ server: this.name, line }, 'A server wrote to its log.'),
    }
  }

  #notified(method: string, params: Json): void {
    if (LISTS_MAY_DIFFER.test(method)) {
      this.listsByCaller.expire()
      return this.connector.refreshLists()
    }
    const { uri } = params
    if (method === 'notifications/resources/updated' && typeof uri === 'string') this.#options.onUpdated(this, uri)
  }
}

function judgedServer({ config, prober, connector }: Backend): JudgedServer {
  return { config, verdict: prober.verdict, link: connector.link }
}
