/** One server behind the gateway: which requests it gets, and over which of its links. */
import { type Era, type Json, MODERN_VERSION, settledWithin } from '../../protocol/index.ts'
import type { Verdict } from '../../probe/index.ts'
import { passes } from '../catalog/index.ts'
import type { BackendConfig } from '../config/index.ts'
import type { ServerLog } from '../announce.ts'
import { BackendError, REJECTED, WITHHELD } from '../errors.ts'
import { type Condition, Connector } from './connector.ts'
import { CallerCredentials, type CredentialsHook } from './credentials.ts'
import { LISTS_MAY_DIFFER } from './lists/refresher.ts'
import { BackendSender } from './sender.ts'
import { BackgroundProber, contradict } from './prober.ts'
import type { About, Link, LinkOptions } from '../links/link.ts'
import { type AuthorizerHook, OperatorLogin } from './login.ts'
import type { ServerLists } from './lists/serverLists.ts'
import { ListsByCaller } from './lists/listsByCaller.ts'
import { holderOf } from './callers.ts'
import type { Relayed } from '../links/relayed.ts'
import type { Leases } from '../leases/leases.ts'
import type { ServerLeases } from '../leases/serverLeases.ts'
import { BackendLimits } from './limits.ts'
import { isStateful, mayShareLinks } from './statePolicy.ts'
import { BackendSubscriptions } from './subscriptions/subscriptions.ts'
import { Upstreams } from '../upstreams/upstreams.ts'
import type { EntryVia, Via } from '../loops/via.ts'

export interface BackendOptions extends ServerLog {
  readonly config: BackendConfig
  /** The gateway that it is behind. */
  readonly via: Via
  /** Gives the credentials of callers, beside those in the configuration. */
  readonly credentials: CredentialsHook | undefined
  readonly authorizer: AuthorizerHook | undefined
  /** Where the server's entry stands, if that is a file. */
  readonly file: string | undefined
  /** Whether servers that keep something between calls are refused. */
  readonly rejectsStateful: () => boolean
  /** The lists have changed, or the server has come up. */
  readonly onLists: (backend: Backend) => void
  /** Compares the definitions of its tools with those of before; gives the names of the tools that are withheld. */
  readonly withheldOf: (backend: Backend, tools: readonly Json[]) => Promise<ReadonlySet<string>>
  readonly onUpdated: (backend: Backend, uri: string) => void
  /** Where gateways look up who of them serves a caller; undefined where they do not. */
  readonly leases?: Leases | undefined
  /** Ends a call that waits here for an answer, for a call of this caller; false where there is none that may be ended for it. */
  readonly relieve?: (backend: Backend, caller: string) => boolean
}

export class Backend {
  readonly name: string
  readonly config: BackendConfig
  readonly #options: BackendOptions
  readonly #connector: Connector
  readonly #sender: BackendSender
  readonly #prober: BackgroundProber
  readonly limits: BackendLimits
  /** To the resources that callers watch. */
  readonly subscriptions = new BackendSubscriptions((method, params) => this.#notified(method, params))
  readonly credentials: CallerCredentials
  readonly #login: OperatorLogin
  readonly via: EntryVia
  /** What it lists to callers with credentials of their own. */
  readonly listsByCaller: ListsByCaller
  /** Where it is reached over HTTP. */
  readonly upstreams: Upstreams | undefined
  /** When it was tried for the first time, in milliseconds of the process. */
  #startedAt = performance.now()

  constructor(options: BackendOptions) {
    const { config, logger } = options
    const { name, address } = config
    this.#options = options
    this.config = config
    this.name = name
    this.limits = new BackendLimits(config, (caller) => options.relieve?.(this, caller) === true)
    this.credentials = new CallerCredentials({ config, logger, hook: options.credentials })
    this.via = options.via.before()
    this.#login = new OperatorLogin({ ...options, via: this.via })
    this.listsByCaller = new ListsByCaller(config.settings.listSeconds * 1000)
    this.upstreams = 'url' in address ? new Upstreams([address.url, ...config.settings.urls], this.via) : undefined
    this.#connector = this.#createConnector()
    this.#prober = new BackgroundProber({
      server: name,
      address: () => this.#login.probedAddress(),
      log: options,
      onVerdict: () => options.onLists(this),
    })
    this.#sender = this.#createSender()
  }

  #createConnector(): Connector {
    const { config, onLists, withheldOf } = this.#options
    return new Connector({
      config,
      log: this.#options,
      link: this.#linkOptions(),
      demand: () => this.#login.demand(),
      onLink: (link) => {
        this.subscriptions.use(link)
        this.#prober.sawVersion(link.about.info)
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
      connector: this.#connector,
      link: this.#linkOptions(),
      isShared: () => this.isShared,
      relieve: (caller) => this.limits.relieve(caller),
      onContradicted: () => {
        this.#prober.doubt()
        this.#connector.reconnect('it asks for a session that it did not need before.')
      },
      onOpened: (link) => {
        const { link: own } = this.#connector
        if (own !== undefined && contradict(own, link) && this.#prober.doubt())
          this.#connector.reconnect('it is another version than before.')
      },
    })
  }

  /** Connects and stays connected, trying again for as long as it takes. */
  start(): void {
    this.#startedAt = performance.now()
    void this.#connector.run()
    if (this.config.settings.state === 'auto') void this.tried.then(() => this.#prober.run(this.#connector.stopped))
    else this.#prober.skip()
  }

  /** What it says of itself; undefined until it has been reached. */
  get about(): About | undefined {
    return this.#connector.about
  }

  get condition(): Condition {
    return this.#connector.condition
  }

  get lists(): ServerLists {
    return this.#connector.lists.latest
  }

  /** The tools that are not served, because nobody has accepted how their definitions changed. */
  get withheld(): ReadonlySet<string> {
    return this.#connector.lists.withheld
  }

  get verdict(): Verdict | undefined {
    return this.#prober.verdict
  }

  /** How old the verdict is, in seconds. */
  get verdictAgeSeconds(): number | undefined {
    return this.#prober.ageSeconds
  }

  /** Resolves when the server was reached, or the first attempt has failed. */
  get tried(): Promise<void> {
    return this.#connector.tried
  }

  /** The same, or when it has had so long for that. */
  triedWithin(limitMs: number): Promise<void> {
    return settledWithin(this.tried, Math.max(0, this.#startedAt + limitMs - performance.now()))
  }

  /** Resolves when it is known whether the server keeps something, or that this cannot be known now. */
  async judged(): Promise<void> {
    await Promise.all([this.tried, this.#prober.judged])
  }

  /** Whether the server is known to keep something between calls. */
  get keepsState(): boolean {
    return isStateful(this)
  }

  /** Whether callers may share a link. */
  get isShared(): boolean {
    return mayShareLinks(this)
  }

  /** How long ago the lists were read, in seconds; undefined where they never were. */
  get listAgeSeconds(): number | undefined {
    return this.#connector.lists.ageSeconds
  }

  /** The tools that callers may have. */
  get servedTools(): readonly Json[] {
    return this.served(this.lists).tools
  }

  /** What of some lists callers may have: not the tools that the entry of the server denies, nor those that are withheld. */
  served(lists: ServerLists): ServerLists {
    const { tools } = this.config.settings
    const isServed = (name: string): boolean => passes(name, tools) && !this.withheld.has(name)
    return { ...lists, tools: lists.tools.filter(({ name }) => isServed(String(name))) }
  }

  /** Whether callers are listed what the server lists to them. Where definitions are pinned, all see what was compared. */
  get listsDiffer(): boolean {
    return this.credentials.mayDiffer && this.config.settings.definitions !== 'pin'
  }

  /** The number of requests under way. */
  get inFlight(): number {
    return this.limits.inFlight
  }

  /** Which gateway serves which of its callers, where gateways look that up. */
  get leases(): ServerLeases | undefined {
    return this.#sender.leases
  }

  /** The number of links beside the shared one. */
  get links(): number {
    return this.#sender.links
  }

  /** A server of the session era asks in the middle of a call. One that was never reached counts as stateless. */
  get era(): Era {
    return this.about === undefined || this.about.version === MODERN_VERSION ? 'modern' : 'legacy'
  }

  /** Whether the gateway serves no such servers (DT-23). */
  get isRejected(): boolean {
    return this.#options.rejectsStateful() && this.keepsState
  }

  /** Whether it is refused, or that is still to be found out. */
  get mayBeRejected(): boolean {
    return this.#options.rejectsStateful() && (this.verdict === undefined || this.isRejected)
  }

  /** The gateway's own link, which may be closed; undefined until the server has been reached. */
  get link(): Link | undefined {
    return this.#connector.link
  }

  async request(relayed: Relayed): Promise<Json> {
    await this.tried
    if (this.#options.rejectsStateful()) await this.judged()
    if (this.isRejected) throw new BackendError('BACKEND_REFUSED', this.name, REJECTED)
    if (this.config.settings.definitions === 'pin' && relayed.method === 'tools/call') this.#assertServed(relayed)
    const leave = await this.limits.entered(holderOf(relayed))
    try {
      const credentials = await this.credentials.of(relayed)
      const sent = this.#sender.send({ ...relayed, credentials })
      const result = await (credentials === undefined ? sent.catch((error: unknown) => this.#explained(error)) : sent)
      this.limits.assertSize(result)
      return result
    } finally {
      leave()
    }
  }

  /** Nothing was sent that the server could refuse, where it needs credentials and the gateway has none. */
  #explained(error: unknown): never {
    const { demanded } = this.#connector
    if (demanded === undefined || !(error instanceof BackendError && error.reason === 'BACKEND_REFUSED')) throw error
    throw new BackendError('BACKEND_REFUSED', this.name, `${demanded.why} ${demanded.advice}`, { cause: error })
  }

  /** A definition that was never read cannot be compared, so that a server has to be reached before its tools run. */
  #assertServed({ params }: Relayed): void {
    if (this.about === undefined) this.#connector.openedLink()
    if (this.withheld.has(String(params['name']))) throw new BackendError('BACKEND_REFUSED', this.name, WITHHELD)
  }

  /** Finds out whether it is still there. */
  refreshLists(): void {
    this.#connector.refreshLists()
  }

  /** Compares the definitions again, because others may have been accepted. */
  recheck(): Promise<void> {
    return this.#connector.lists.recheck()
  }

  /** From now on, other gateways may go on with the sessions that nobody uses here. */
  handOn(): void {
    this.#sender.handOn()
  }

  async close(): Promise<void> {
    this.#prober.skip()
    this.subscriptions.close()
    await Promise.all([this.#sender.close(), this.#connector.close()])
    this.upstreams?.close()
    this.via.close()
  }

  #linkOptions(): Omit<LinkOptions, 'signal'> {
    const { settings } = this.config
    return {
      server: this.name,
      via: this.via,
      upstreams: this.upstreams,
      declared: {},
      credentials: undefined,
      authorizer: () => this.#login.authorizer(),
      callers: 'all',
      timeoutMs: settings.timeoutSeconds * 1000,
      startMs: settings.startSeconds * 1000,
      onNotification: (method, params) => this.#notified(method, params),
      onClosed: () => {},
      masked: this.config.variableValues,
      onLog: (line) => this.#options.logger().debug({ server: this.name, line }, 'A server wrote to its log.'),
    }
  }

  #notified(method: string, params: Json): void {
    if (LISTS_MAY_DIFFER.test(method)) {
      this.listsByCaller.expire()
      return this.#connector.refreshLists()
    }
    const { uri } = params
    if (method === 'notifications/resources/updated' && typeof uri === 'string') this.#options.onUpdated(this, uri)
  }
}
