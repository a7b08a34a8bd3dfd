/** One server behind the gateway: whether it is up, what it offers, whether it keeps something, and its links. */
import { backoffMs, type Json, MODERN_VERSION, sleep } from '../../protocol/index.ts'
import type { Verdict } from '../../probe/index.ts'
import type { Logger } from '../../server/internal.ts'
import type { BackendConfig } from '../config/index.ts'
import { BackendError, REJECTED, SessionForgotten, tooMany, WITHHELD } from '../errors.ts'
import { addressFor, isPersonal, ownAddress } from './addresses.ts'
import { Judge } from './judge.ts'
import { type About, type Link, type LinkOptions, ownRequest } from './link.ts'
import { NOTHING, type Offer, readOffer } from './offer.ts'
import { openLink } from './open.ts'
import { callerOf, Places, type Sharing } from './places.ts'
import { questionsOf, type Relayed } from './relayed.ts'
import { shareOf, Shares } from './shares.ts'
import { Rereading } from './rereading.ts'

/** How a server is doing. */
export type Condition =
  | { readonly kind: 'starting' }
  | { readonly kind: 'up' }
  | { readonly kind: 'down'; readonly why: string }

export interface BackendOptions {
  readonly config: BackendConfig
  readonly logger: () => Logger
  /** Whether servers that keep something between calls are refused. */
  readonly rejectsStateful: () => boolean
  /** The lists have changed, or the server has come up. */
  readonly onOffer: (backend: Backend) => void
  /** Compares the definitions of its tools with those of before; gives the names of the tools that are withheld. */
  readonly withheldOf: (backend: Backend, tools: readonly Json[]) => Promise<ReadonlySet<string>>
  readonly onUpdated: (backend: Backend, uri: string) => void
}

/** What came before the subscription was acknowledged was not told. */
const LISTS_MAY_DIFFER = /^notifications\/(?:(?:tools|prompts|resources)\/list_changed|subscriptions\/acknowledged)$/
const RETRY = { firstMs: 500, maxMs: 30_000 }

export class Backend {
  readonly name: string
  readonly config: BackendConfig
  offer: Offer = NOTHING
  /** The tools that are not served, because nobody has accepted how their definitions changed. */
  withheld: ReadonlySet<string> = new Set()
  about: About | undefined
  condition: Condition = { kind: 'starting' }
  readonly #options: BackendOptions
  readonly #places: Places
  readonly #stopped = new AbortController()
  readonly #firstTry = Promise.withResolvers<void>()
  readonly #judge: Judge
  readonly #rereading = new Rereading(() => this.#read(), this.#stopped.signal)
  #shared: Link | undefined
  readonly #inFlight = new Shares()

  constructor(options: BackendOptions) {
    const { config } = options
    const { name, settings, address } = config
    this.#options = options
    this.config = config
    this.name = name
    this.#judge = new Judge({
      server: name,
      address: ownAddress(address),
      logger: options.logger,
      onVerdict: () => options.onOffer(this),
    })
    this.#places = new Places({
      server: name,
      maxLinks: 'url' in address ? settings.maxSessions : settings.maxProcesses,
      idleMs: settings.idleSeconds * 1000,
      waitMs: settings.startSeconds * 1000,
      open: (relayed, isOneCaller) => this.#open(relayed, isOneCaller),
    })
  }

  /** Connects and stays connected, trying again for as long as it takes. */
  start(): void {
    void this.#stayConnected()
    if (this.config.settings.state === 'auto') void this.tried.then(() => this.#judge.run(this.#stopped.signal))
    else this.#judge.skip()
  }

  get verdict(): Verdict | undefined {
    return this.#judge.verdict
  }

  /** Resolves when the server was reached, or the first attempt has failed. */
  get tried(): Promise<void> {
    return this.#firstTry.promise
  }

  /** Resolves when it is known whether the server keeps something, or that this cannot be known now. */
  async judged(): Promise<void> {
    await Promise.all([this.tried, this.#judge.judged])
  }

  /** Whether the server is known to keep something between calls. */
  get keepsState(): boolean {
    const { state } = this.config.settings
    return state === 'auto' ? this.verdict?.state === 'STATEFUL' : state === 'stateful'
  }

  /**
   * Whether callers may share a link. Two callers in one session or process see what either of them leaves there, so a
   * guess is not enough: over HTTP the server must have given out no session, and a process must be known to keep nothing.
   */
  get isShared(): boolean {
    const { address, settings } = this.config
    if (settings.state !== 'auto') return settings.state === 'stateless'
    if (this.keepsState) return false
    if ('url' in address) return this.#shared !== undefined && !this.#shared.hasSession
    return this.#judge.knowsStateless
  }

  /** The number of links beside the shared one. */
  get links(): number {
    return this.#places.size
  }

  /** Whether the server asks in the middle of a call, as those of the session era do. */
  get asksInPlace(): boolean {
    return this.about !== undefined && this.about.version !== MODERN_VERSION
  }

  /** Whether the gateway serves no such servers (DT-23). */
  get isRejected(): boolean {
    const isStateful = this.config.settings.state === 'stateful' || this.verdict?.state === 'STATEFUL'
    return this.#options.rejectsStateful() && this.config.settings.state !== 'stateless' && isStateful
  }

  async request(relayed: Relayed): Promise<Json> {
    await this.tried
    if (this.#options.rejectsStateful()) await this.judged()
    if (this.isRejected) throw new BackendError('BACKEND_REFUSED', this.name, REJECTED)
    if (this.config.settings.definitions === 'pin' && relayed.method === 'tools/call') this.#assertServed(relayed)
    const { maxInFlight } = this.config.settings
    const caller = callerOf(relayed)
    if (this.#inFlight.all >= maxInFlight || this.#inFlight.of(caller) >= shareOf(maxInFlight))
      throw new BackendError('BACKEND_BUSY', this.name, tooMany(maxInFlight))
    this.#inFlight.add(caller)
    try {
      return this.#limited(await this.#send(relayed))
    } finally {
      this.#inFlight.remove(caller)
    }
  }

  /** A definition that was never read cannot be compared, so that a server has to be reached before its tools run. */
  #assertServed({ params }: Relayed): void {
    if (this.about === undefined) this.#sharedLink()
    if (this.withheld.has(String(params['name']))) throw new BackendError('BACKEND_REFUSED', this.name, WITHHELD)
  }

  #limited(result: Json): Json {
    const { maxResultBytes } = this.config.settings
    if (Buffer.byteLength(JSON.stringify(result)) <= maxResultBytes) return result
    const sentence = `answered with more than ${maxResultBytes} bytes. Ask for less of it, or raise its maxResultBytes.`
    throw new BackendError('BACKEND_INVALID', this.name, sentence)
  }

  async #send(relayed: Relayed): Promise<Json> {
    const sharing = this.#sharingOf(relayed)
    if (sharing === undefined) return this.#sharedLink().request(relayed)
    const send = (link: Link): Promise<Json> => link.request(relayed)
    try {
      return await this.#places.with(relayed, sharing, send)
    } catch (error) {
      if (!(error instanceof SessionForgotten)) throw error
      await this.#places.forget(relayed)
      return this.#places.with(relayed, sharing, send)
    }
  }

  /** Compares the definitions again, because others may have been accepted. */
  async recheck(): Promise<void> {
    const { offer } = this
    const withheld = await this.#options.withheldOf(this, offer.tools)
    if (this.offer !== offer) return this.recheck()
    this.withheld = withheld
    this.#options.onOffer(this)
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    this.#firstTry.resolve()
    this.#judge.skip()
    await Promise.all([this.#places.close(), this.#shared?.close()])
  }

  /** Undefined where calls share one link. */
  #sharingOf(relayed: Relayed): Sharing | undefined {
    if (!this.isShared || isPersonal(this.config.address)) return 'caller'
    if (this.#shared?.era === 'modern') return undefined
    return Object.keys(questionsOf(relayed)).length === 0 ? undefined : 'call'
  }

  #sharedLink(): Link {
    if (this.#shared !== undefined && !this.#shared.isClosed) return this.#shared
    const why = this.condition.kind === 'down' ? this.condition.why : 'it is not up yet.'
    throw new BackendError('BACKEND_DOWN', this.name, `is not there: ${why} It is tried again.`)
  }

  #open(relayed: Relayed, isOneCaller: boolean): Promise<Link> {
    const address = addressFor(this.config, relayed.principal)
    return openLink(address, { ...this.#linkOptions(), questions: questionsOf(relayed), isOneCaller })
  }

  #linkOptions(): LinkOptions {
    const { settings } = this.config
    return {
      server: this.name,
      questions: {},
      isOneCaller: false,
      timeoutMs: settings.timeoutSeconds * 1000,
      startMs: settings.startSeconds * 1000,
      onNews: (method, params) => this.#heard(method, params),
      onClosed: () => {},
      onLog: (line) => this.#options.logger().debug({ server: this.name, line }, 'A server wrote to its log.'),
    }
  }

  async #stayConnected(): Promise<void> {
    const { signal } = this.#stopped
    for (let attempt = 1; !signal.aborted; attempt++) {
      const closed = Promise.withResolvers<string>()
      const why = await this.#connect(closed.resolve).then(
        () => {
          attempt = 0
          return closed.promise
        },
        (error: unknown) => this.#failed(error),
      )
      if (signal.aborted) return
      this.condition = { kind: 'down', why }
      await sleep(backoffMs(Math.max(1, attempt), RETRY), signal).catch(() => {})
    }
  }

  async #connect(onClosed: (why: string) => void): Promise<void> {
    const link = await openLink(ownAddress(this.config.address), {
      ...this.#linkOptions(),
      onClosed: (why) => onClosed(`it ${why}.`),
    })
    const { offer, withheld } = await this.#readFirst(link)
    if (this.#stopped.signal.aborted) return link.close()
    this.withheld = withheld
    this.#shared = link
    this.about = link.about
    this.offer = offer
    this.condition = { kind: 'up' }
    this.#firstTry.resolve()
    this.#options.onOffer(this)
    if (link.era === 'modern') void this.#subscribe(link)
  }

  async #readFirst(link: Link): Promise<{ offer: Offer; withheld: ReadonlySet<string> }> {
    try {
      const offer = await readOffer(link)
      return { offer, withheld: await this.#options.withheldOf(this, offer.tools) }
    } catch (error) {
      await link.close()
      throw error
    }
  }

  #failed(error: unknown): string {
    this.#firstTry.resolve()
    const why = error instanceof BackendError ? `it ${error.why}` : 'it could not be reached.'
    const { condition } = this
    const isNews = condition.kind !== 'down' || condition.why !== why
    if (isNews) this.#options.logger().warn({ server: this.name, why }, 'A server is not there. It is tried again.')
    return why
  }

  /** Servers of the stateless era tell of changes on a stream that is asked for. Not all have one. */
  async #subscribe(link: Link): Promise<void> {
    const { signal } = this.#stopped
    const params = { notifications: { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true } }
    const onCancel = (listener: () => void): void => signal.addEventListener('abort', listener, { once: true })
    const notify = (method: string, news: Json): void => this.#heard(method, news)
    await link
      .request(ownRequest('subscriptions/listen', params, { onCancel, notify, isEndless: true }))
      .catch(() => {})
  }

  #heard(method: string, params: Json): void {
    if (LISTS_MAY_DIFFER.test(method)) return this.#rereading.request()
    const { uri } = params
    if (method === 'notifications/resources/updated' && typeof uri === 'string') this.#options.onUpdated(this, uri)
  }

  async #read(): Promise<void> {
    const link = this.#shared
    if (link === undefined || link.isClosed) return
    const offer = await readOffer(link).catch(() => undefined)
    if (offer === undefined) return
    this.withheld = await this.#options.withheldOf(this, offer.tools)
    this.offer = offer
    this.#options.onOffer(this)
  }
}
