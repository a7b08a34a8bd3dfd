/** The gateway's own link to a server: it reconnects without limit, and the server's lists are read over it. */
import { plainLine } from '../../client/index.ts'
import { backoffMs, MODERN_VERSION, RemoteError, sleep } from '../../protocol/index.ts'
import type { Logger } from '../../server/internal.ts'
import {
  BackendError,
  BehindItself,
  FailedAtStart,
  isUnreachable,
  notThere,
  SessionForgotten,
  whyNotThere,
} from '../errors.ts'
import { ownAddress } from './credentials.ts'
import type { About, Link, LinkOptions } from '../links/link.ts'
import { followListChanges, type ListChangesOptions, ListRefresher } from './lists/changes.ts'
import { BackendLists, type BackendListsOptions, type CheckedLists, countOf } from './lists/backendLists.ts'
import type { LoginDemand } from './login.ts'
import { openLink } from '../links/open.ts'
import { EVERY_QUESTION } from '../links/relayed.ts'

export type Condition =
  | { readonly kind: 'starting' }
  | { readonly kind: 'up' }
  /** `advice`: what an operator can do to bring the server up. */
  | { readonly kind: 'down'; readonly why: string; readonly advice?: string }

/** A server that answers with an error is reachable, and its error is the reason. */
function whyNotServed(error: unknown): string {
  if (!(error instanceof RemoteError)) return 'it could not be reached.'
  return `it answers with error ${error.code}: "${plainLine(error.message, 200)}".`
}

/** The reason why a server is not available, as the end of a sentence; undefined if it is. */
export function whyAbsent(condition: Condition): string | undefined {
  if (condition.kind === 'starting') return 'it is not up yet.'
  return condition.kind === 'down' ? condition.why : undefined
}

export interface ConnectorOptions extends Pick<BackendListsOptions, 'config' | 'onLists' | 'withheldOf'> {
  readonly link: Omit<LinkOptions, 'signal'>
  /** The credentials that a refusing server needs, as far as known. */
  readonly demand: () => Promise<LoginDemand | undefined>
  /** Prepares the server for a connection; rejects if it cannot. */
  readonly prepare: () => Promise<void>
  /** Called when a link is open for requests. */
  readonly onLink: (link: Link) => void
  readonly logger: () => Logger
}

const SETTLED_MS = 500
const RETRY = { firstMs: 500, maxMs: 30_000 }

export class Connector {
  readonly lists: BackendLists
  about: About | undefined
  condition: Condition = { kind: 'starting' }
  /** Time that the server took to start, or to accept a session, at the last connect. */
  startedInMs: number | undefined
  /** The credentials that the server needs, if it refused the gateway at the last attempt. */
  demanded: LoginDemand | undefined
  readonly #options: ConnectorOptions
  readonly #stopped = new AbortController()
  /** Aborts when the server is no longer needed. */
  readonly stopped = this.#stopped.signal
  readonly #firstTry = Promise.withResolvers<void>()
  /** Resolves when the server was reached, or the first attempt has failed. */
  readonly tried = this.#firstTry.promise
  readonly #refresher = new ListRefresher(() => this.#read(), this.stopped)
  #link: Link | undefined
  /** The link that is being replaced. */
  #givenUp: Link | undefined
  /** Settles when the link is open, or could not be opened. */
  #connecting: Promise<unknown> | undefined
  /** The link for reading lists, if it is a separate one. */
  #lister: Link | undefined
  #onLost: (why: string) => void = () => {}
  /** The last sentence logged about a server that is not available. */
  #logged: string | undefined

  constructor(options: ConnectorOptions) {
    this.#options = options
    this.lists = new BackendLists({
      ...options,
      logger: options.logger,
      signal: this.stopped,
      onStale: () => this.refreshLists(),
    })
  }

  /** Whether a link declares its client's capabilities when it is opened, as session-era servers require. */
  get declaresOnLinks(): boolean {
    return this.about?.version !== MODERN_VERSION
  }

  /** Whether calls may use this link: it declares no elicitation, sampling or roots. */
  get servesCalls(): boolean {
    return this.#options.config.settings.state === 'stateless'
  }

  /** The latest link, perhaps closed; undefined until the server has been reached. */
  get link(): Link | undefined {
    return this.#link
  }

  /** The open link. Throws an error with the reason if there is none. */
  openedLink(): Link {
    if (this.#link !== undefined && !this.#link.isClosed) return this.#link
    throw notThere(this.#options.config.name, whyAbsent(this.condition) ?? 'its connection has just ended.')
  }

  /** Connects and stays connected, with unlimited retries. */
  async run(): Promise<void> {
    const signal = this.stopped
    for (let attempt = 1; !signal.aborted; attempt++) {
      const closed = Promise.withResolvers<string>()
      const connecting = this.#connect(closed.resolve)
      this.#connecting = connecting.catch(() => {})
      const condition = await connecting.then(
        async () => {
          attempt = 0
          return { kind: 'down', why: await closed.promise } as const
        },
        (error: unknown) => (signal.aborted ? this.condition : this.#failed(error)),
      )
      if (signal.aborted) return
      this.condition = condition
      await sleep(backoffMs(Math.max(1, attempt), RETRY), signal).catch(() => {})
    }
  }

  /** Reconnects, because the facts learned at the last connect may be stale. Calls in flight finish on the old link. */
  reconnect(why: string): void {
    const link = this.#link
    if (link === undefined || link.isClosed || this.#givenUp === link) return
    this.#givenUp = link
    this.#onLost(why)
    void link.retire()
  }

  /** Requests a debounced refresh of the lists. */
  refreshLists(): void {
    this.#refresher.request()
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    this.#logged = undefined
    this.lists.close()
    this.#firstTry.resolve()
    await Promise.all([this.#connecting, this.#link?.close(), this.#lister?.close(), this.#givenUp?.close()])
  }

  async #connect(onClosed: (why: string) => void): Promise<void> {
    const { config, link: options } = this.#options
    this.#onLost = onClosed
    const begunAt = performance.now()
    await this.#options.prepare()
    const link = await openLink(ownAddress(config.address), {
      ...options,
      signal: this.stopped,
      declared: this.servesCalls ? {} : EVERY_QUESTION,
      onClosed: (why) => onClosed(`it ${why}.`),
    })
    this.startedInMs = performance.now() - begunAt
    const read = await this.#readFirst(link)
    if (this.stopped.aborted) return link.close()
    this.#link = link
    this.about = link.about
    this.lists.take(read)
    this.condition = { kind: 'up' }
    this.#logged = undefined
    this.demanded = undefined
    this.#firstTry.resolve()
    this.#options.onLists()
    this.#options.onLink(link)
    if (link.era === 'modern') void followListChanges(link, this.#changesOf(link))
    else if (this.servesCalls) void this.#findMore(link)
  }

  /**
   * Some servers list more to clients that can be asked, which callers of this link may not be. The lists of such a
   * server are read on a second link from then on.
   */
  async #findMore(link: Link): Promise<void> {
    const { config, link: options } = this.#options
    await this.#lister?.close()
    this.#lister = undefined
    const listing = { ...options, signal: this.stopped, declared: EVERY_QUESTION }
    const lister = await openLink(ownAddress(config.address), listing).catch(() => undefined)
    if (lister === undefined) return
    // Some of these servers extend their lists only a moment later.
    await sleep(SETTLED_MS, this.stopped).catch(() => {})
    const found = await this.lists.read(lister).catch(() => undefined)
    const hasMore = found !== undefined && countOf(found.lists) > this.lists.count
    if (!hasMore || this.#link !== link || this.stopped.aborted) return lister.close()
    this.#lister = lister
    this.refreshLists()
  }

  async #readFirst(link: Link): Promise<CheckedLists> {
    try {
      return await this.lists.readChecked(link)
    } catch (error) {
      await link.close()
      throw error
    }
  }

  async #failed(error: unknown): Promise<Condition> {
    if (error instanceof BehindItself) this.lists.empty()
    const { config, logger } = this.#options
    const found = await this.#conditionOf(error)
    const { kind: _, ...said } = found
    const printed = error instanceof FailedAtStart ? error.printed : []
    // Times and process ids differ each time, so digits do not count as a change.
    const news = [found.why, ...printed].join('\n').replace(/\d+/g, '')
    if (this.#logged !== news)
      logger().warn(
        { server: config.name, ...said, ...(printed.length > 0 && { printed }) },
        'A server is not available. It is retried.',
      )
    this.#logged = news
    this.condition = found
    this.#firstTry.resolve()
    return found
  }

  async #conditionOf(error: unknown): Promise<Condition & { kind: 'down' }> {
    if (!(error instanceof BackendError)) return { kind: 'down', why: whyNotServed(error) }
    this.demanded = error.reason === 'BACKEND_REFUSED' ? await this.#options.demand() : undefined
    const { why, advice }: Partial<LoginDemand> = this.demanded ?? { why: whyNotThere(error) }
    return { kind: 'down', why: `it ${why}`, ...(advice !== undefined && { advice }) }
  }

  #changesOf(link: Link): ListChangesOptions {
    return {
      signal: this.stopped,
      isWanted: () => this.#link === link && this.condition.kind === 'up',
      onNotification: (method, params) => this.#options.link.onNotification(method, params),
      onEnded: () => this.refreshLists(), // a refresh shows whether the server is still there
    }
  }

  async #read(): Promise<void> {
    const link = this.#lister?.isClosed === false ? this.#lister : this.#link
    if (link === undefined || link.isClosed || this.condition.kind !== 'up') return
    try {
      this.lists.take(await this.lists.readChecked(link))
      this.#options.onLists()
    } catch (error) {
      if (error instanceof SessionForgotten) return this.reconnect('it has forgotten its session.')
      if (error instanceof BehindItself) this.lists.empty()
      if (isUnreachable(error)) return this.#onLost(`it ${error.why}`)
      this.lists.keep()
    }
  }
}
