/**
 * What a route lists to a caller, where that is not what everyone is listed: servers that get credentials of callers may list
 * something else to each, and other gateways do not get what leads back to them.
 */
import { type Json, unref } from '../../protocol/index.ts'
import type { Call, CallerLists, Entries, MethodParts } from '../../server/internal.ts'
import { digestOf } from '../../state/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { callerOf, holderOf } from '../backends/callers.ts'
import { whyAbsent } from '../backends/connector.ts'
import { type ServerLists, type ListingLink, type ReadLists, readLists } from '../backends/lists/serverLists.ts'
import { type ListingCaller, ONE_CALLER } from '../backends/lists/listsByCaller.ts'
import { notThere } from '../errors.ts'
import { VIA_HEADER } from '../loops/via.ts'
import { RouteDirectory, type RouteScope } from './directory.ts'
import { requestFor } from './tasks/source.ts'

export interface OwnListsOptions {
  readonly scope: RouteScope
  /** The server whose own address the route is. */
  readonly alone: (() => Backend | undefined) | undefined
  /** How long a list waits for a server. */
  readonly waitMs: number
}

interface OwnDirectory {
  readonly lists: readonly (ServerLists | undefined)[]
  readonly revision: number
  readonly directory: RouteDirectory
  readonly entries: Entries
}

/** Of so many callers what they were listed is kept ready for their calls. */
const MAX_READY = 64
/** Where the gateway itself was not let in, nothing is known of what the server has. */
const ALL_LISTS = { tools: {}, prompts: {}, resources: {} }

export class OwnLists {
  readonly #options: OwnListsOptions
  readonly #ready = new Map<string, OwnDirectory>()
  /** Counts the changes of what everyone is listed. */
  #revision = 0
  lists: MethodParts['lists'] | undefined

  constructor(options: OwnListsOptions) {
    this.#options = options
  }

  /** What everyone is listed has changed. */
  refresh(): void {
    this.#revision++
  }

  /** The lists of this caller, read where they may have changed; undefined where all callers have the same. */
  readonly of = (call: Call): Promise<CallerLists | undefined> | undefined => {
    if (this.#mayDiffer(call)) return this.#read(call)
    const alone = this.#options.alone?.()
    if (alone?.condition.kind === 'starting') return this.#started(alone)
    this.#assertKnown(undefined)
    return undefined
  }

  /** A server that was added may start while others have been there for long. */
  async #started(alone: Backend): Promise<undefined> {
    await alone.triedWithin(this.#options.waitMs)
    this.#assertKnown(undefined)
  }

  async #read(call: Call): Promise<CallerLists | undefined> {
    await Promise.all(this.#differing(call).map((backend) => this.#latest(backend, call)))
    const { entries, lists } = this.#directoryOf(call)
    this.#assertKnown(lists[0])
    return this.lists?.ofCaller(entries)
  }

  /** An empty list would say that a server has nothing which was never reached, neither by the gateway nor for this caller. */
  #assertKnown(own: ServerLists | undefined): void {
    const { name, about, condition } = this.#options.alone?.() ?? {}
    if (name === undefined || about !== undefined || own !== undefined) return
    const why = condition && whyAbsent(condition)
    if (why !== undefined) throw notThere(name, why)
  }

  /** What this caller was listed last; undefined where all callers have the same. */
  directory(call: Call): RouteDirectory | undefined {
    return this.#mayDiffer(call) ? this.#directoryOf(call).directory : undefined
  }

  #mayDiffer(call: Call): boolean {
    return this.#options.scope.backends().some((backend) => backend.listsDiffer || leadsBack(backend, call))
  }

  #differing(call: Call): readonly Backend[] {
    return this.#listed(call).filter(({ listsDiffer, isRejected }) => listsDiffer && !isRejected)
  }

  /** The servers that this caller is listed. */
  #listed(call: Call): readonly Backend[] {
    return this.#options.scope.backends().filter((backend) => !leadsBack(backend, call))
  }

  async #latest(backend: Backend, call: Call): Promise<void> {
    const identity = { principal: call.principal, authorization: authorizationOf(call) }
    // What cannot be got is told when the server is called.
    const credentials = await backend.credentials.of(identity).catch(() => undefined)
    if (credentials === undefined) return
    const { waitMs } = this.#options
    await backend.listsByCaller.latest(listingCaller(call), () => readFor(backend, call), waitMs)
  }

  #directoryOf(call: Call): OwnDirectory {
    const { scope } = this.#options
    const of = listingCaller(call)
    const own = new Map(this.#differing(call).map((backend) => [backend, backend.listsByCaller.known(of)]))
    const lists = [...own.values()]
    const listed = this.#listed(call).map(({ name }) => name)
    const key = digestOf([of.caller, listed])
    const ready = this.#ready.get(key)
    const isCurrent = ready?.revision === this.#revision && ready.lists.length === lists.length
    if (isCurrent && ready.lists.every((each, index) => each === lists[index])) return ready
    const backends = (): readonly Backend[] => scope.backends().filter(({ name }) => listed.includes(name))
    const directory = new RouteDirectory({ ...scope, backends }, (backend) =>
      backend.served(own.get(backend) ?? backend.lists),
    )
    const made = { lists, revision: this.#revision, directory, entries: directory.refresh().entries }
    this.#ready.delete(key)
    this.#ready.set(key, made)
    for (const oldest of this.#ready.keys()) {
      if (this.#ready.size <= MAX_READY) break
      this.#ready.delete(oldest)
    }
    return made
  }
}

/** A principal is the same one with another token; callers without a name are told apart by theirs. */
function listingCaller(call: Call): ListingCaller {
  const { principal, peer, address, channel } = call
  const parts = { principal, peer, address: address ?? channel.address }
  const token = principal === undefined ? authorizationOf(call) : undefined
  return { caller: digestOf([callerOf(parts), token ?? null]), holder: holderOf(parts) }
}

/** Whether the caller is a gateway that this server leads back to. */
function leadsBack(backend: Backend, { header }: Call): boolean {
  const via = header?.(VIA_HEADER)
  return via !== undefined && backend.via.leadsTo(via)
}

function authorizationOf({ authorization, header }: Call): string | undefined {
  return authorization ?? header?.('authorization')
}

/** It is read for all requests of this caller that wait for it, so that it goes on when one of them is left. */
function readFor(backend: Backend, call: Call): Promise<ReadLists> {
  const { about, config } = backend
  const late = new AbortController()
  const timer = unref(setTimeout(() => late.abort(), config.settings.startSeconds * 1000))
  const onCancel = (listener: () => void): void => late.signal.addEventListener('abort', listener, { once: true })
  const { _meta: meta } = call.params
  const link: ListingLink = {
    about: about ?? { version: undefined, info: undefined, capabilities: ALL_LISTS, instructions: undefined },
    request: ({ method, params, ask }) => {
      const sent: Json = { ...params, ...(meta !== undefined && { _meta: meta }) }
      return requestFor(backend, call, { method, params: sent, ask, onCancel, notify: () => {} })
    },
  }
  return readLists(link, late.signal, ONE_CALLER).finally(() => clearTimeout(timer))
}
