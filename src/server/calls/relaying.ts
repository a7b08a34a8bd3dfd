/** The parts of a gateway's server that take the place of handlers: other servers answer its calls. */
import type { Cluster, ClusterScope } from '../../cluster/index.ts'
import type { AccessControl } from '../catalog/accessControl.ts'
import type { Listing, Lists } from '../catalog/lists.ts'
import type { Capability, Registry } from '../catalog/registry.ts'
import type { Json } from '../../protocol/index.ts'
import type { Call } from '../call.ts'
import type { ResourceWatching } from '../limits/watchedResources.ts'
import type { DebounceOptions } from '../lifecycle/eventBus.ts'
import type { Logger } from '../logger.ts'
import type { Caching } from '../options.ts'
import type { ForwardedCalls } from '../forwarding/calls.ts'
import type { Results } from '../results.ts'
import type { CallerLists, HandlerMethods } from './pipeline.ts'
import type { RoundRunner } from './rounds.ts'

/** The parts of the server that the methods of a gateway use. */
export interface MethodParts {
  readonly registry: Registry
  readonly access: AccessControl
  readonly rounds: RoundRunner
  readonly results: Results
  readonly scope: ClusterScope
  readonly calls: ForwardedCalls
  readonly lists: Pick<Lists, 'ofCaller'>
  readonly logger: () => Logger
}

export interface Relaying {
  /** The cluster of the process, which all its routes share. */
  readonly cluster: Cluster
  /** Names the route in the cluster. */
  readonly scope: string
  readonly handlers: (parts: MethodParts) => HandlerMethods
  /** Declared whatever is listed: servers that come up later may have any, and clients read capabilities only once. */
  readonly capabilities: ReadonlySet<Capability>
  readonly watched: ResourceWatching
  readonly instructions: () => string | undefined
  /** The lists of this caller; undefined if they equal the common lists. */
  readonly ownLists?: (call: Call) => Promise<CallerLists | undefined> | undefined
  /** More for the `_meta` of all lists, as it is at the moment; undefined for nothing. */
  readonly listMeta?: () => Json | undefined
  /** The caching hints of the servers behind for a list; undefined if they give none. */
  readonly listCaching?: (listing: Listing) => Required<Caching> | undefined
  /** Whether a server behind this one keeps something between calls. */
  readonly keepsState: () => boolean
  /** Debounces notifications of changed lists: gateways of one configuration change together. */
  readonly debounce: DebounceOptions
  /** Resolves when the lists are known; undefined if they are. */
  readonly ready: () => Promise<void> | undefined
}
