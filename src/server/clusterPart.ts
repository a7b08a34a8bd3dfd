/** A server's part in the cluster of its process: its scope, and the messages that it forwards and receives. */
import type { SealOptions } from '../state/seal/index.ts'
import { Cluster, type ClusterOptions, type ClusterScope, Owners } from '../cluster/index.ts'
import type { Relaying } from './calls/relaying.ts'
import { ForwardedCalls } from './forwarding/calls.ts'
import { ClientRequests } from './forwarding/clientRequests.ts'
import { NewRequests } from './forwarding/newRequests.ts'
import type { MessageHandler } from './http/messageHandler.ts'
import { messageSealer } from './keys.ts'
import type { LegacyHttp, LegacyHttpOptions } from './legacy/http.ts'
import { debouncedChanges, type EventBus } from './lifecycle/eventBus.ts'
import type { ModernHttp } from './modern/request.ts'
import type { ServerOptions } from './options.ts'

export interface ClusterPart {
  readonly cluster: Cluster
  readonly scope: ClusterScope
  readonly bus: EventBus
  readonly owners: Owners
  /** The bus as clients are notified from it. */
  readonly news: EventBus
  readonly forwardedCalls: ForwardedCalls
  readonly newRequests: NewRequests
  /** The part that sessions use. */
  readonly sessions: Pick<LegacyHttpOptions, 'self' | 'members' | 'bus' | 'owners' | 'forwarder'>
}

interface ClusterParts extends Pick<ClusterOptions, 'clock' | 'logger'> {
  readonly sealing: SealOptions
  readonly ttlSeconds: number
}

/** Joins the cluster of the process, which a gateway shares between its routes. A server alone makes its own. */
export function joinCluster(
  { advertise, peers: addresses, ledger, bus: configured }: ServerOptions,
  { sealing, ttlSeconds, ...parts }: ClusterParts,
  relaying: Pick<Relaying, 'cluster' | 'scope' | 'debounce'> | undefined,
): ClusterPart {
  const cluster =
    relaying?.cluster ?? new Cluster({ advertise, addresses, ledger, sealer: messageSealer(sealing), ...parts })
  const scope = cluster.scope(relaying?.scope ?? '', configured)
  const { self, members } = scope
  const bus = scope.bus as EventBus // its events were sealed by an instance of this server
  const owners = new Owners({ self, bus, members, ttlSeconds, clock: parts.clock })
  return {
    cluster,
    scope,
    bus,
    owners,
    news: relaying === undefined ? bus : debouncedChanges(bus, relaying.debounce),
    forwardedCalls: new ForwardedCalls(scope),
    newRequests: new NewRequests(scope),
    sessions: { self, members, bus, owners, forwarder: new ClientRequests(scope) },
  }
}

/** Answers forwarded messages of other instances. Without `legacy`, sessions are not served. */
export function serveForwarded(
  { scope, forwardedCalls, newRequests }: ClusterPart,
  handler: MessageHandler,
  modern: ModernHttp,
  legacy: LegacyHttp | undefined,
): void {
  newRequests.serveBy(({ headers, body, principal, era }, sink) =>
    handler.handle(
      { method: 'POST', header: (name) => headers[name], json: () => Promise.resolve(body) },
      { principal, era },
      sink,
    ),
  )
  forwardedCalls.serveBy((call, sink) => modern.answerForwarded(call, sink))
  legacy?.serveIn(scope)
}
