/** The parts of a server that serve the session era. */
import type { SealOptions } from '../../state/seal/index.ts'
import type { CarryStore } from '../../state/stores/index.ts'
import type { AccessControl } from '../catalog/accessControl.ts'
import type { CallHandler } from '../call.ts'
import type { SessionDeclaration } from '../catalog/capabilities.ts'
import type { CarryRules, Difference } from '../catalog/carry.ts'
import type { Registry } from '../catalog/registry.ts'
import type { ClusterPart } from '../clusterPart.ts'
import { LegacyHttp } from './http.ts'
import { sessionMethods } from './methods.ts'
import { PushBroker } from './push/broker.ts'
import { announced } from './push/handOffs.ts'
import { Sessions } from './session.ts'
import { SessionFacts } from './sessionFacts.ts'
import { GetStreams } from './streams/getStreams.ts'
import { LegacyStreams } from './streams/streams.ts'
import type { WatchedResources } from '../limits/watchedResources.ts'
import { sessionSealers } from '../keys.ts'
import type { Logger } from '../logger.ts'
import { type ServerIdentity, type ServerOptions, streamLifeMs } from '../options.ts'
import type { Results } from '../results.ts'
import type { TaskService } from '../taskPort.ts'

export type SessionPart = ReturnType<typeof sessionEra>

export interface SessionEraParts {
  readonly clusterPart: ClusterPart
  readonly sealing: SealOptions
  readonly rules: CarryRules
  readonly store: CarryStore | undefined
  readonly onDifference: (difference: Difference) => void
  readonly declaration: SessionDeclaration
  readonly registry: Registry
  readonly access: AccessControl
  readonly results: Results
  readonly watched: WatchedResources
  readonly identity: ServerIdentity
  readonly instructions: () => string | undefined
  readonly tasks: TaskService | undefined
  readonly ttlSeconds: number
  readonly clock: () => number
  readonly logger: () => Logger
}

export function sessionEra(options: ServerOptions, parts: SessionEraParts) {
  const { ledger, bus: configuredBus, assume, limits, getStream } = options
  const { sessionSealer, pushSealer } = sessionSealers(options, parts.sealing)
  const { clusterPart, declaration, access, watched, ttlSeconds, clock, logger } = parts
  const { scope, bus, news, owners } = clusterPart
  const { self } = scope
  const facts = new SessionFacts(bus, clock, watched)
  scope.listen({
    standing: () => facts.events(),
    crashed: () => pushes.askAgain(),
    doubted: () => void pushes.reclaim(),
  })
  // A stateful server keeps the state of its sessions here, so no other instance can resume their calls.
  const handOff = announced(owners, async (it) => (declaration.isStateful ? undefined : scope.handOff({ ...it })))
  const streams = new LegacyStreams(sessionSealer, self)
  const getStreams = new GetStreams(streams, facts, news, access, streamLifeMs(options))
  const pushes = new PushBroker({
    ...parts,
    self,
    bus: configuredBus,
    sealer: pushSealer,
    ledger: scope.ledger,
    owners,
    canHandOff: async () => !declaration.isStateful && scope.canHandOff(),
    handOff,
    cancel: (session, request) => bus.publish({ kind: 'cancelled', session, request }),
  })
  const sessions = new Sessions(sessionSealer, facts, self, { assume, logger })
  return {
    facts,
    getStreams,
    pushes,
    sessions,
    methods: sessionMethods({ ...parts, facts }),
    http: (calls: CallHandler) =>
      new LegacyHttp({
        ...clusterPart.sessions,
        calls,
        ledger,
        sessions,
        facts,
        streams,
        getStreams,
        hasGetStream: getStream !== false,
        pushes,
        clientAddress: limits?.clientAddress,
        ttlSeconds,
        clock,
        handOff,
        logger,
        needsSession: declaration.isStateful,
      }),
  }
}
