/**
 * The lists of one caller, if they differ from the common lists: servers that get callers' credentials may list
 * differently for each, and rules hide entries that are denied to a caller.
 */
import type { Json } from '../../protocol/index.ts'
import type { Call, CallerLists, Entries, MethodParts } from '../../server/internal.ts'
import { digestOf } from '../../state/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { callerOf, quotaCaller } from '../links/callers.ts'
import { whyAbsent } from '../backends/connector.ts'
import { type ServerLists, type ListingLink, type ReadLists, readLists } from '../backends/lists/serverLists.ts'
import type { ListingCaller } from '../backends/lists/listsByCaller.ts'
import { notThere } from '../errors.ts'
import { cancelledBy } from '../links/link.ts'
import { declaredBy } from '../links/relayed.ts'
import { RouteDirectory, type RouteScope } from './directory.ts'
import type { RouteRules } from './rules/routeRules.ts'
import { requestFor } from './tasks/source.ts'

export interface OwnListsOptions {
  readonly scope: RouteScope
  /** The server, on a route with only one. */
  readonly alone: (() => Backend | undefined) | undefined
  /** Timeout for a server's list. */
  readonly waitMs: number
  /** The common directory. */
  readonly common: RouteDirectory
  readonly rules: RouteRules
}

/** The directory of callers with equal lists. */
interface OwnDirectory {
  /** The lists of the servers whose lists differ by caller. */
  readonly own: ReadonlyMap<Backend, ServerLists | undefined>
  readonly directory: RouteDirectory
  readonly entries: Entries
  /** Created on first use. */
  pages?: CallerLists | undefined
}

/** Maximum number of cached entries, and of distinct directories. */
const MAX_READY_ENTRIES = 50_000
const MAX_READY = 64
/** Maximum number of callers whose hidden entries are remembered. */
const MAX_CALLERS = 1000
/** If a server refused the gateway itself, its lists for callers are unknown. */
const ALL_LISTS = { tools: {}, prompts: {}, resources: {} }

export class OwnLists {
  readonly #options: OwnListsOptions
  /** Least recently used first. */
  #ready: readonly OwnDirectory[] = []
  lists: MethodParts['lists'] | undefined
  /** The entries that rules hide from callers, for each directory. */
  #shown = new WeakMap<RouteDirectory, ShownDirectories>()

  constructor(options: OwnListsOptions) {
    this.#options = options
  }

  /** Clears the cache after the common lists have changed. */
  refresh(): void {
    this.#ready = []
    this.#shown = new WeakMap()
  }

  /** The lists of this caller, refreshed if expired; undefined if all callers have the same. */
  readonly of = (call: Call): Promise<CallerLists | undefined> | undefined => {
    if (this.#mayDiffer) return this.#read(call)
    const alone = this.#options.alone?.()
    if (alone?.connector.condition.kind === 'starting') return this.#started(alone, call)
    this.#assertKnown(undefined)
    return this.#options.rules.isEmpty ? undefined : Promise.resolve(this.#pages(call))
  }

  /** Waits for a new server that is still starting. */
  async #started(alone: Backend, call: Call): Promise<CallerLists | undefined> {
    await alone.triedWithin(this.#options.waitMs)
    this.#assertKnown(undefined)
    return this.#pages(call)
  }

  async #read(call: Call): Promise<CallerLists | undefined> {
    await Promise.all(this.#differing.map((backend) => this.#latest(backend, call)))
    const own = this.#directoryOf(call)
    this.#assertKnown([...own.own.values()][0])
    own.pages ??= this.lists?.ofCaller(own.entries)
    return this.#pages(call) ?? own.pages
  }

  /** The lists without the entries that rules hide from this caller; undefined if nothing is hidden. */
  #pages(call: Call): CallerLists | undefined {
    const shown = this.#shownTo(call)
    if (shown === undefined) return undefined
    shown.pages ??= this.lists?.ofCaller(shown.directory.entries)
    return shown.pages
  }

  /** The directory without the entries that rules hide from this caller. */
  visible(call: Call): RouteDirectory {
    return this.#shownTo(call)?.directory ?? this.directory(call) ?? this.#options.common
  }

  #shownTo(call: Call): ShownDirectory | undefined {
    const { rules, common } = this.#options
    if (rules.isEmpty) return undefined
    const directory = this.directory(call) ?? common
    const known = this.#shown.get(directory) ?? new ShownDirectories()
    this.#shown.set(directory, known)
    return known.of(call.principal, directory, rules)
  }

  /**
   * Throws if the server was reached neither by the gateway nor for this caller: an empty list would mean that the
   * server offers nothing.
   */
  #assertKnown(own: ServerLists | undefined): void {
    const alone = this.#options.alone?.()
    if (alone === undefined || alone.connector.about !== undefined || own !== undefined) return
    const why = whyAbsent(alone.connector.condition)
    if (why !== undefined) throw notThere(alone.name, why)
  }

  /** The last directory of this caller; undefined if all callers have the same. */
  directory(call: Call): RouteDirectory | undefined {
    return this.#mayDiffer ? this.#directoryOf(call).directory : undefined
  }

  get #mayDiffer(): boolean {
    return this.#options.scope.backends().some(({ listsDiffer }) => listsDiffer)
  }

  get #differing(): readonly Backend[] {
    return this.#options.scope.backends().filter(({ listsDiffer, isRejected }) => listsDiffer && !isRejected)
  }

  /**
   * The directory of this caller after its lists of a server were read again; undefined if it shares the common
   * directory.
   */
  async refreshed(call: Call, backend: Backend): Promise<RouteDirectory | undefined> {
    if (!backend.listsDiffer) return undefined
    const caller = listingCaller(call)
    backend.listsByCaller.expireOf(caller)
    await this.#latest(backend, call)
    return backend.listsByCaller.known(caller) === undefined ? undefined : this.#directoryOf(call).directory
  }

  async #latest(backend: Backend, call: Call): Promise<void> {
    const identity = { principal: call.principal, authorization: authorizationOf(call) }
    // A failure is reported when the server is called.
    const credentials = await backend.credentials.of(identity).catch(() => undefined)
    if (credentials === undefined) return
    const { waitMs } = this.#options
    await backend.listsByCaller.latest(listingCaller(call), () => readFor(backend, call), waitMs)
  }

  #directoryOf(call: Call): OwnDirectory {
    const of = listingCaller(call)
    const own = new Map(this.#differing.map((backend) => [backend, backend.listsByCaller.known(of)]))
    const lists = [...own.values()]
    const found = this.#ready.find((ready) => areSame([...ready.own.values()], lists)) ?? this.#makeInPlace(own)
    this.#ready = withinLimits([...this.#ready.filter((ready) => ready !== found), found])
    return found
  }

  /** Builds the directory, and evicts those whose lists are evicted: a directory takes as much memory as its lists. */
  #makeInPlace(own: OwnDirectory['own']): OwnDirectory {
    this.#ready = this.#ready.filter(areKept)
    const directory = new RouteDirectory(this.#options.scope, (backend) => backend.lists.served(own.get(backend)))
    return { own, directory, entries: directory.refresh().entries }
  }
}

interface ShownDirectory {
  readonly directory: RouteDirectory
  /** Created on first use. */
  pages?: CallerLists | undefined
}

/** The filtered directories, for callers with the same identity and for callers with the same view. */
class ShownDirectories {
  readonly #byCaller = new Map<string, string>()
  readonly #byHidden = new Map<string, ShownDirectory | undefined>()

  of(principal: Call['principal'], directory: RouteDirectory, rules: RouteRules): ShownDirectory | undefined {
    const caller = digestOf(principal ?? null)
    const known = this.#byCaller.get(caller)
    if (known !== undefined && this.#byHidden.has(known)) return this.#byHidden.get(known)
    const hidden = rules.hidden(principal, directory.contents)
    const key = digestOf([...hidden].map(({ backend, listed }) => [backend.name, listed]))
    const shown = this.#byHidden.get(key) ?? (hidden.size === 0 ? undefined : { directory: directory.without(hidden) })
    if (this.#byCaller.size >= MAX_CALLERS) this.#byCaller.clear()
    if (this.#byHidden.size >= MAX_READY) this.#byHidden.clear()
    this.#byCaller.set(caller, key)
    this.#byHidden.set(key, shown)
    return shown
  }
}

type CallerListing = readonly (ServerLists | undefined)[]

function areSame(some: CallerListing, others: CallerListing): boolean {
  return some.length === others.length && some.every((each, index) => each === others[index])
}

function areKept({ own }: OwnDirectory): boolean {
  return [...own].every(([backend, lists]) => lists === undefined || backend.listsByCaller.keeps(lists))
}

/** Evicts the oldest over the limits. */
function withinLimits(ready: readonly OwnDirectory[]): readonly OwnDirectory[] {
  let entries = 0
  const kept = ready.toReversed().filter((each, index) => {
    const { tools, prompts, resources, templates } = each.entries
    entries += tools.length + prompts.length + resources.length + templates.length
    return index === 0 || (index < MAX_READY && entries <= MAX_READY_ENTRIES)
  })
  return kept.toReversed()
}

/**
 * The identity for which lists are kept. A principal stays the same with another token; anonymous callers are
 * identified by their tokens.
 */
function listingCaller(call: Call): ListingCaller {
  const { principal, peer, address, channel } = call
  const parts = { principal, peer, address: address ?? channel.address }
  const token = principal === undefined ? authorizationOf(call) : undefined
  // Some servers list more to clients that can be asked.
  return { caller: digestOf([callerOf(parts), declaredBy(peer), token ?? null]), quotaCaller: quotaCaller(parts) }
}

function authorizationOf({ authorization, header }: Call): string | undefined {
  return authorization ?? header?.('authorization')
}

/** Reads the lists for all waiting requests of this caller, so the cancellation of one of them does not stop it. */
function readFor(backend: Backend, call: Call): Promise<ReadLists> {
  const { connector, config } = backend
  const late = AbortSignal.timeout(config.settings.startSeconds * 1000)
  const onCancel = cancelledBy(late)
  const { _meta: meta } = call.params
  const link: ListingLink = {
    about: connector.about ?? { version: undefined, info: undefined, capabilities: ALL_LISTS, instructions: undefined },
    request: ({ method, params, ask }) => {
      const sent: Json = { ...params, ...(meta !== undefined && { _meta: meta }) }
      return requestFor(backend, call, { method, params: sent, ask, onCancel, notify: () => {} })
    },
  }
  return readLists(link, config.settings.tools, late)
}
