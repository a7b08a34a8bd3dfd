/** Sends requests to a server over the links that their callers may use. */
import { type Json, RemoteError } from '../../protocol/index.ts'
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
import { leasedCaller } from '../links/callers.ts'
import { HeldTasks } from './heldTasks.ts'
import { CALLS_AT_ONCE, LinkPool } from './linkPool/pool.ts'
import { callersOn, declaredOn, type Sharing } from './linkPool/sharing.ts'

export interface BackendSenderOptions {
  readonly config: BackendConfig
  readonly connector: Connector
  readonly link: Omit<LinkOptions, 'signal'>
  /** Whether callers may share a link. */
  readonly isShared: () => boolean
  /** A server judged stateless wants a session. */
  readonly onContradicted: () => void
  /** The server was reached on a link beside the gateway's own. */
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
  readonly #tasks: HeldTasks
  readonly #stopped = new AbortController()

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
    this.#pool = new LinkPool({
      server: name,
      maxLinks: 'url' in address ? settings.maxSessions : settings.maxProcesses,
      idleMs: settings.idleSeconds * 1000,
      waitMs: settings.startSeconds * 1000,
      open: (relayed, sharing, lease) => this.#open(relayed, sharing, lease),
      leases: this.leases,
      evictParked: options.evictParked,
    })
  }

  /** The number of links beside the gateway's own. */
  get links(): number {
    return this.#pool.size
  }

  async send(relayed: Relayed): Promise<Json> {
    const held = this.#tasks.requestFor(relayed)
    if (held === undefined) return this.#sendAnywhere(relayed)
    try {
      const result = await held.link.request(held.relayed)
      this.#tasks.heard(relayed, result)
      return result
    } catch (error) {
      if (error instanceof RemoteError) this.#tasks.heard(relayed, error)
      throw error instanceof SessionForgotten ? this.#tasks.lost() : error
    }
  }

  /** Releases idle sessions to other gateways. */
  handOff(): void {
    this.#pool.handOff()
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    this.#tasks.close()
    await this.#pool.close()
    if (this.leases !== undefined) this.#options.leases?.remove(this.leases)
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
      // A stateless server has nothing to forget.
      if (sharing !== 'caller') this.#options.onContradicted()
      this.#pool.forget(this.#declaring(relayed, sharing ?? 'caller'), sharing ?? 'caller')
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
      // Nothing else shows that a server without an open connection is gone. Not after a caller's own cancellation.
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
    const { config, link, onOpened } = this.#options
    const { credentials, declared = {} } = relayed
    const address = ownAddress(config.address)
    const { env } = credentials ?? {}
    const started =
      'command' in address && env !== undefined ? { ...address, env: { ...address.env, ...env } } : address
    const isStored = lease !== undefined && (relayed.principal !== undefined || credentials?.headers === undefined)
    const session = isStored ? lease.session : undefined
    const opened = await openLink(started, {
      ...link,
      signal: this.#stopped.signal,
      declared,
      credentials,
      callers: callersOn(relayed, sharing),
      session,
    })
    if (session === undefined) onOpened(opened)
    if (!isStored || session !== undefined || opened.session === undefined) return opened
    await this.leases?.keepSession(lease, opened.session).catch(async (error: unknown) => {
      await opened.close()
      throw error
    })
    return opened
  }
}
