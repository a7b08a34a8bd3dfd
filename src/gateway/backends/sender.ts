/** Sends requests to a server over the links that their callers may use. */
import { type Json, onceEvery, RemoteError } from '../../protocol/index.ts'
import type { Logger } from '../../server/internal.ts'
import type { BackendConfig } from '../config/index.ts'
import { isBackendGone, SessionForgotten } from '../errors.ts'
import type { CallerLease } from '../placement/callerLease.ts'
import type { ServerLeases } from '../placement/serverLeases.ts'
import type { Leases } from '../placement/leases.ts'
import type { Link, LinkOptions, UpstreamSession } from '../links/link.ts'
import { endSession, openLink } from '../links/open.ts'
import { questionsOf, type Relayed } from '../links/relayed.ts'
import type { Connector } from './connector.ts'
import { ownAddress } from './credentials.ts'
import { leasedCaller, sessionCaller } from '../links/callers.ts'
import { HeldTasks } from './heldTasks.ts'
import { CALLS_AT_ONCE, LinkPool } from './linkPool/pool.ts'
import type { Keeping } from './linkPool/room.ts'
import { callersOn, declaredOn, type Sharing } from './linkPool/sharing.ts'
import { type WarmKind, WarmLinks } from './linkPool/warmLinks.ts'

/** Wait for room. Clients of the SDK give up after 60 seconds, and the error should reach them. */
const MAX_WAIT_MS = 30_000
const WARN_EVERY_MS = 60_000

const EVICTED =
  'Idle processes or sessions were closed to make room, with what they may have kept for their callers. Raise maxProcesses or maxSessions, or set "state" in the entry of the server.'

export interface BackendSenderOptions {
  readonly config: BackendConfig
  readonly connector: Connector
  readonly link: Omit<LinkOptions, 'signal'>
  readonly isShared: () => boolean
  /** Whether processes or sessions of one caller hold state, as far as known. */
  readonly keeping: () => Keeping
  /** Whether processes or sessions may be opened ahead: each caller has one, and all are opened alike. */
  readonly mayWarm: () => boolean
  readonly logger: () => Logger
  /** Called when a server judged stateless requires a session. */
  readonly onContradicted: () => void
  /** Called when a link beside the gateway's own was opened. */
  readonly onOpened: (link: Link) => void
  /** The leases of callers, where gateways share them. */
  readonly leases: Leases | undefined
  /** Evicts a parked call to free a link for this caller; returns false if none may be evicted. */
  readonly evictParked: (caller: string) => boolean
}

export class BackendSender {
  /** The leases of its callers, where gateways share them. */
  readonly leases: ServerLeases | undefined
  readonly #options: BackendSenderOptions
  readonly #pool: LinkPool
  readonly #warm: WarmLinks
  readonly #maxLinks: number
  readonly #tasks: HeldTasks
  readonly #stopped = new AbortController()
  readonly #mayWarn = onceEvery(WARN_EVERY_MS, performance.now.bind(performance))
  #evicted = 0

  constructor(options: BackendSenderOptions) {
    const { name, address, settings } = options.config
    this.#options = options
    this.leases = options.leases?.of({
      name,
      url: 'url' in address ? address.url : undefined,
      idleMs: settings.idleSeconds * 1000,
      endSession: (session) => this.#endSession(session),
    })
    this.#tasks = new HeldTasks(name, settings.parkSeconds * 1000)
    this.#maxLinks = 'url' in address ? settings.maxSessions : settings.maxProcesses
    this.#warm = new WarmLinks((kind) => this.#openLink(kind))
    this.#pool = new LinkPool({
      server: name,
      maxLinks: this.#maxLinks,
      idleMs: settings.idleSeconds * 1000,
      waitMs: Math.min(settings.startSeconds * 1000, MAX_WAIT_MS),
      keeping: options.keeping,
      onEvicted: () => this.#warnOfEviction(),
      open: (relayed, sharing, lease) => this.#open(relayed, sharing, lease),
      leases: this.leases,
      evictParked: options.evictParked,
    })
  }

  /** The number of links beside the gateway's own. */
  get links(): number {
    return this.#pool.size + this.#warm.size
  }

  async send(relayed: Relayed): Promise<Json> {
    const held = this.#tasks.requestFor(relayed)
    if (held === undefined) return this.#sendAnywhere(relayed)
    try {
      const result = await held.link.request(held.relayed)
      this.#tasks.answered(relayed, result)
      return result
    } catch (error) {
      if (error instanceof RemoteError) this.#tasks.answered(relayed, error)
      throw error instanceof SessionForgotten ? this.#tasks.lost() : error
    }
  }

  /** Closes the links of a client that has ended its session. */
  sessionEnded(session: string): void {
    this.#pool.leave(sessionCaller(session))
  }

  /** Releases idle sessions to other gateways. */
  handOff(): void {
    this.#pool.handOff()
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    this.#tasks.close()
    await Promise.all([this.#pool.close(), this.#warm.fit(0)])
    if (this.leases !== undefined) this.#options.leases?.remove(this.leases)
  }

  #warnOfEviction(): void {
    this.#evicted++
    if (!this.#mayWarn()) return
    this.#options.logger().warn({ server: this.#options.config.name, evicted: this.#evicted }, EVICTED)
  }

  async #endSession(session: UpstreamSession): Promise<void> {
    const address = ownAddress(this.#options.config.address)
    const { signal } = this.#stopped
    if ('url' in address) await endSession(address, { ...this.#options.link, signal }, session)
  }

  async #sendAnywhere(relayed: Relayed): Promise<Json> {
    const sharing = this.#sharingOf(relayed)
    try {
      if (sharing === undefined) return await this.#sendOnOwnLink(relayed)
      if (sharing === 'all') this.#options.connector.openedLink() // throws at once if the server is down
      return await this.#sendOnPooledLink(relayed, sharing)
    } catch (error) {
      if (!(error instanceof SessionForgotten)) throw error
      // A stateless server has no session to lose, so its verdict is doubtful.
      if (sharing !== 'caller') this.#options.onContradicted()
      this.#pool.forget(this.#declaring(relayed, sharing ?? 'caller'), sharing ?? 'caller')
      void this.#warm.fit(0) // the server may have forgotten these sessions as well
      if (error.answer !== undefined) throw error.answer
      // The server has not started the call.
      return this.#sendOnPooledLink(relayed, sharing ?? 'caller', true)
    }
  }

  /** `isForgotten`: the server no longer knows this caller's session. */
  async #sendOnPooledLink(relayed: Relayed, sharing: Sharing, isForgotten = false): Promise<Json> {
    const isLeased = sharing === 'caller' && !this.#options.isShared()
    const { declaresOnLinks } = this.#options.connector
    const lease = isLeased ? await this.leases?.own(leasedCaller(relayed, declaresOnLinks)) : undefined
    if (isForgotten && lease !== undefined) lease.session = undefined
    const use = async (link: Link, hold: () => () => void): Promise<Json> => {
      const result = this.#tasks.listed(relayed, await link.request(relayed), link)
      return this.#tasks.keep(relayed, result, link, hold)
    }
    return this.#pool.with(this.#declaring(relayed, sharing), sharing, use, lease)
  }

  async #sendOnOwnLink(relayed: Relayed): Promise<Json> {
    const { connector } = this.#options
    try {
      return await connector.openedLink().request(relayed)
    } catch (error) {
      // Reading the lists shows whether a server without an open connection is gone. A caller's own cancellation has no
      // cause.
      if (isBackendGone(error) && (error as Error).cause !== undefined) connector.refreshLists()
      throw error
    }
  }

  /** The sharing of a call; undefined if it may use the gateway's own link. */
  #sharingOf(relayed: Relayed): Sharing | undefined {
    const { connector, isShared } = this.#options
    const { link } = connector
    if (!isShared()) return 'caller'
    if (link?.hasOwnHeaders === true) return undefined
    if (relayed.credentials !== undefined) return 'caller'
    if (link?.era === 'modern') return undefined
    if (Object.keys(questionsOf(relayed)).length > 0) return 'call'
    const isPlain = Object.keys(declaredOn(relayed, 'all')).length === 0
    return connector.servesCalls && isPlain && (link?.inFlight ?? 0) < CALLS_AT_ONCE ? undefined : 'all'
  }

  #declaring(relayed: Relayed, sharing: Sharing): Relayed {
    const { declaresOnLinks } = this.#options.connector
    return declaresOnLinks ? { ...relayed, declared: declaredOn(relayed, sharing) } : relayed
  }

  /** Opens a link. With a lease it resumes the caller's session, or stores the new one for the next gateway. */
  async #open(relayed: Relayed, sharing: Sharing, lease: CallerLease | undefined): Promise<Link> {
    const { credentials, declared = {} } = relayed
    const isStored = lease !== undefined && (relayed.principal !== undefined || credentials?.headers === undefined)
    const session = isStored ? lease.session : undefined
    const kind = { declared, callers: callersOn(relayed, sharing) }
    const opened = await this.#openWarmed(kind, { credentials, session })
    if (session === undefined) this.#options.onOpened(opened)
    if (!isStored || session !== undefined || opened.session === undefined) return opened
    await this.leases?.keepSession(lease, opened.session).catch(async (error: unknown) => {
      await opened.close()
      throw error
    })
    return opened
  }

  /** Takes a warm link, or opens one; then starts the next one ahead. The pool already counts this one. */
  async #openWarmed(kind: WarmKind, own: Pick<LinkOptions, 'credentials' | 'session'>): Promise<Link> {
    const { warm } = this.#options.config.settings
    const left = (): number => this.#maxLinks - this.#pool.size
    const isNew = own.credentials === undefined && own.session === undefined
    const taken = isNew ? await this.#warm.take(kind) : undefined
    if (taken === undefined) await this.#warm.fit(left())
    const opened = taken ?? (await this.#openLink(kind, own))
    if (!this.#stopped.signal.aborted && this.#options.mayWarm()) this.#warm.fill(kind, Math.min(warm, left()))
    return opened
  }

  #openLink(kind: WarmKind, own: Partial<Pick<LinkOptions, 'credentials' | 'session'>> = {}): Promise<Link> {
    const { config, link } = this.#options
    const address = ownAddress(config.address)
    const { env } = own.credentials ?? {}
    const started =
      'command' in address && env !== undefined ? { ...address, env: { ...address.env, ...env } } : address
    return openLink(started, { ...link, signal: this.#stopped.signal, ...kind, ...own })
  }
}
