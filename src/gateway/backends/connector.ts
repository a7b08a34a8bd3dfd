/** The gateway's own link to a server: it is opened again for as long as it takes, and what the server offers is read there. */
import { backoffMs, type Json, sleep } from '../../protocol/index.ts'
import type { Logger } from '../../server/internal.ts'
import type { BackendConfig } from '../config/index.ts'
import { BackendError } from '../errors.ts'
import { ownAddress } from './credentials.ts'
import { type About, type Link, type LinkOptions, ownRequest } from '../links/link.ts'
import { NOTHING, type Offer, readOffer } from './offer.ts'
import { openLink } from '../links/open.ts'
import { Rereading } from './rereading.ts'

/** How a server is doing. */
export type Condition =
  | { readonly kind: 'starting' }
  | { readonly kind: 'up' }
  /** `advice`: what an operator can do about it. */
  | { readonly kind: 'down'; readonly why: string; readonly advice?: string }

export interface ConnectorOptions {
  readonly config: BackendConfig
  readonly link: LinkOptions
  /** What to do where the server refuses what it is sent, if logging in is one way. */
  readonly loginAdvice: string | undefined
  readonly logger: () => Logger
  /** The lists have changed, or the server has come up. */
  readonly onOffer: () => void
  /** Compares the definitions of its tools with those of before; gives the names of the tools that are withheld. */
  readonly withheldOf: (tools: readonly Json[]) => Promise<ReadonlySet<string>>
}

const RETRY = { firstMs: 500, maxMs: 30_000 }

export class Connector {
  offer: Offer = NOTHING
  /** When the lists were read, in milliseconds; undefined until they were. */
  readAt: number | undefined
  withheld: ReadonlySet<string> = new Set()
  about: About | undefined
  condition: Condition = { kind: 'starting' }
  readonly #options: ConnectorOptions
  readonly #stopped = new AbortController()
  readonly #firstTry = Promise.withResolvers<void>()
  readonly #rereading = new Rereading(() => this.#read(), this.#stopped.signal)
  #link: Link | undefined

  constructor(options: ConnectorOptions) {
    this.#options = options
  }

  /** Aborts when the server is not wanted any longer. */
  get stopped(): AbortSignal {
    return this.#stopped.signal
  }

  /** Resolves when the server was reached, or the first attempt has failed. */
  get tried(): Promise<void> {
    return this.#firstTry.promise
  }

  /** The latest link, which may be closed; undefined until the server has been reached. */
  get link(): Link | undefined {
    return this.#link
  }

  /** The link, or the error that says why there is none. */
  openedLink(): Link {
    if (this.#link !== undefined && !this.#link.isClosed) return this.#link
    const why = this.condition.kind === 'down' ? this.condition.why : 'it is not up yet.'
    throw new BackendError('BACKEND_DOWN', this.#options.config.name, `is not there: ${why} It is tried again.`)
  }

  /** Connects and stays connected, trying again for as long as it takes. */
  async run(): Promise<void> {
    const { signal } = this.#stopped
    for (let attempt = 1; !signal.aborted; attempt++) {
      const closed = Promise.withResolvers<string>()
      const condition = await this.#connect(closed.resolve).then(
        async () => {
          attempt = 0
          return { kind: 'down', why: await closed.promise } as const
        },
        (error: unknown) => this.#failed(error),
      )
      if (signal.aborted) return
      this.condition = condition
      await sleep(backoffMs(Math.max(1, attempt), RETRY), signal).catch(() => {})
    }
  }

  /** Reads the lists again soon. */
  reread(): void {
    this.#rereading.request()
  }

  /** Compares the definitions again, because others may have been accepted. */
  async recheck(): Promise<void> {
    const { offer } = this
    const withheld = await this.#options.withheldOf(offer.tools)
    if (this.offer !== offer) return this.recheck()
    this.withheld = withheld
    this.#options.onOffer()
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    this.#firstTry.resolve()
    await this.#link?.close()
  }

  async #connect(onClosed: (why: string) => void): Promise<void> {
    const { config, link: options } = this.#options
    const link = await openLink(ownAddress(config.address), { ...options, onClosed: (why) => onClosed(`it ${why}.`) })
    const { offer, withheld } = await this.#readFirst(link)
    if (this.#stopped.signal.aborted) return link.close()
    this.withheld = withheld
    this.#link = link
    this.about = link.about
    this.offer = offer
    this.readAt = performance.now()
    this.condition = { kind: 'up' }
    this.#firstTry.resolve()
    this.#options.onOffer()
    if (link.era === 'modern') void this.#subscribe(link)
  }

  async #readFirst(link: Link): Promise<{ offer: Offer; withheld: ReadonlySet<string> }> {
    try {
      const offer = await readOffer(link)
      return { offer, withheld: await this.#options.withheldOf(offer.tools) }
    } catch (error) {
      await link.close()
      throw error
    }
  }

  #failed(error: unknown): Condition {
    this.#firstTry.resolve()
    const { condition } = this
    const { config, logger } = this.#options
    const found = this.#conditionOf(error)
    const { kind: _, ...said } = found
    const isNews = condition.kind !== 'down' || condition.why !== found.why
    if (isNews) logger().warn({ server: config.name, ...said }, 'A server is not there. It is tried again.')
    return found
  }

  #conditionOf(error: unknown): Condition & { kind: 'down' } {
    if (!(error instanceof BackendError)) return { kind: 'down', why: 'it could not be reached.' }
    const { loginAdvice } = this.#options
    if (error.reason !== 'BACKEND_REFUSED' || loginAdvice === undefined) return { kind: 'down', why: `it ${error.why}` }
    return { kind: 'down', why: 'it needs a login.', advice: loginAdvice }
  }

  /** Servers of the stateless era tell of changes on a stream that is asked for. Not all have one. */
  async #subscribe(link: Link): Promise<void> {
    const { signal } = this.#stopped
    const params = { notifications: { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true } }
    const onCancel = (listener: () => void): void => signal.addEventListener('abort', listener, { once: true })
    const notify = (method: string, news: Json): void => this.#options.link.onNews(method, news)
    await link
      .request(ownRequest('subscriptions/listen', params, { onCancel, notify, isEndless: true }))
      .catch(() => {})
  }

  async #read(): Promise<void> {
    const link = this.#link
    if (link === undefined || link.isClosed) return
    const offer = await readOffer(link).catch(() => undefined)
    if (offer === undefined) return
    this.withheld = await this.#options.withheldOf(offer.tools)
    this.offer = offer
    this.readAt = performance.now()
    this.#options.onOffer()
  }
}
