/** Creates the parts of a server and connects them. All defaults are filled in here. */
import { DEFAULT_TTL_SECONDS } from '../state/seal/index.ts'
import { memoryLedger } from '../state/stores/index.ts'
import { MAX_ASKS, UNWIND_MS } from '../journal/index.ts'
import { SessionDeclaration } from './catalog/capabilities.ts'
import { Approval } from './auth/approval.ts'
import { documentsOf, type Principal, scopeChallengeOf, toAuthenticate } from './auth/authenticator.ts'
import type { CallToolOptions } from './calls/callTool.ts'
import { CarryRules, differenceReporter } from './catalog/carry.ts'
import { AccessControl } from './catalog/accessControl.ts'
import { Carrier } from './calls/carrier.ts'
import { CallLifetime } from './calls/lifetime.ts'
import type { ClusterPart, joinCluster, serveForwarded } from './clusterPart.ts'
import { MiddlewareChain } from './calls/middleware.ts'
import type { TaskWing } from './calls/taskWing.ts'
import type { EndpointParts } from './http/endpoint.ts'
import { MessageHandler } from './http/messageHandler.ts'
import { ModernHttp } from './modern/request.ts'
import { type LegacyListed, Lists } from './catalog/lists.ts'
import { requestLimits } from './limits/requestLimits.ts'
import { WatchedResources } from './limits/watchedResources.ts'
import { localBus } from './lifecycle/eventBus.ts'
import { Load } from './lifecycle/load.ts'
import { canSealAtOnce, keyringOf, roundSealers, warnOfMissingKeys } from './keys.ts'
import { LoggerSlot } from './logger.ts'
import { knownCaller } from './limits/quotaCaller.ts'
import { MAX_ROUNDS, RoundRunner } from './calls/rounds.ts'
import {
  architectureOf,
  assertParts,
  cachingOf,
  identityOf,
  type ServerOptions,
  streamLifeMs,
  withWorkStore,
} from './options.ts'
import type { CallHandler } from './call.ts'
import { ownHandlers, Pipeline } from './calls/pipeline.ts'
import type { Relaying } from './calls/relaying.ts'
import { Registry } from './catalog/registry.ts'
import { Results } from './results.ts'
import { ResultHooks } from './calls/resultHooks.ts'
import { Subscriptions } from './modern/subscriptions.ts'
import type { NoticeSite, TaskHost, TaskService } from './taskPort.ts'
import type { Telemetry } from './telemetry/telemetry.ts'
import type { sessionEra } from './legacy/sessionEra.ts'

/** Optional parts of a server: sessions, other instances, telemetry. A bundle contains the named ones. */
export interface Wings<Part extends ClusterPart | undefined> {
  readonly joinCluster: (...options: Parameters<typeof joinCluster>) => Part
  readonly serveForwarded?: typeof serveForwarded
  readonly sessionEra?: typeof sessionEra
  readonly legacyListed?: LegacyListed
  readonly telemetry?: ((registry: Registry) => Telemetry) | undefined
}

export type ServerParts = ReturnType<typeof assemble<ClusterPart | undefined>>

export function assemble<Part extends ClusterPart | undefined>(
  given: ServerOptions,
  wings: Wings<Part>,
  relaying?: Relaying,
) {
  const options = withWorkStore(given)
  const { store, clock = Date.now, ttlSeconds = DEFAULT_TTL_SECONDS, exposeErrors = true } = options
  const lifetime = new CallLifetime({ ttlSeconds, maxCallSeconds: options.maxCallSeconds, clock })
  const identity = identityOf(options)
  assertParts(options)
  const instructions = relaying?.instructions ?? (() => options.instructions)
  const caching = cachingOf(options)
  const logger = new LoggerSlot(options.logger)
  const log = () => logger.current
  const load = new Load(options.maxInFlight)

  const keyring = keyringOf(options)
  const audience = options.audience ?? options.name
  const ledger = options.ledger ?? memoryLedger()
  const sealing = { keyring, audience, ttlSeconds, clock }
  const { sealer, vault, linkSealer } = roundSealers(options, sealing)

  const clusterPart = wings.joinCluster(options, { sealing, ttlSeconds, clock, logger: log }, relaying)
  const bus = clusterPart?.bus ?? options.bus ?? localBus()
  const isReachable = (): boolean => clusterPart?.cluster.self.url !== undefined || options.bus !== undefined
  const architecture = architectureOf(options)
  const declaration = new SessionDeclaration(architecture, keyring.ephemeral, isReachable, relaying?.keepsState)
  const carrying = new CarryRules(options.carry, store !== undefined)
  const onDifference = differenceReporter(log, options.onDifference)
  const registry = new Registry(carrying, relaying?.capabilities)
  const access = new AccessControl(registry, scopeChallengeOf(options.principal))
  const telemetry = wings.telemetry?.(registry)
  const results = new Results(identity, options.maxResultBytes)
  const hooks = new ResultHooks(results)
  const { pageSize, listUncallable = true, maxAsks = MAX_ASKS, maxRounds = MAX_ROUNDS, unwindMs = UNWIND_MS } = options
  const { listMeta: meta, listCaching: cachingBehind } = relaying ?? {}
  const listed = { registry, identity, caching, cachingBehind, pageSize, logger: log, meta }
  const lists = new Lists({ ...wings, ...listed, callsWait: () => questionsPart !== undefined, listUncallable })
  const watched = new WatchedResources(relaying?.watched)
  const lifeMs = streamLifeMs(options)
  const subscriptions = new Subscriptions(
    clusterPart?.news ?? bus,
    results,
    access,
    () => tasks,
    watched,
    knownCaller,
    lifeMs,
  )
  const carrier = new Carrier({
    rules: carrying,
    sealer,
    vault,
    store,
    ttlSeconds,
    lifetime,
    clock,
    onDifference,
    logger: log,
  })
  const middleware = new MiddlewareChain()
  const limits = {
    ledger,
    audience,
    middleware,
    approval: options.principal === undefined ? undefined : new Approval(options.approves),
    maxAsks,
    maxRounds,
    unwindMs,
    watch: options.watch,
    logger: log,
    results,
  }
  const rounds = new RoundRunner({ ...limits, carrier, load, lifetime })
  const calling: CallToolOptions = {
    registry,
    access,
    rounds,
    results,
    exposeErrors,
    telemetry,
    logger: log,
    tasks: () => tasks,
    waiting: () => questionsPart?.waiting,
  }
  const wing = options.tasks?.wing as TaskWing | undefined
  const host: TaskHost | undefined = wing?.hostOf(calling, limits, {
    audience,
    knowsCallers: options.principal !== undefined,
    notices: (): NoticeSite | undefined => questionsPart?.notices,
  })
  const tasks: TaskService | undefined = host && options.tasks?.attach(host)

  const mayCall = (who: Principal | undefined, tool: string): boolean => access.canSee(who, 'tools', tool)
  const callerLimits = requestLimits(options.limits, relaying !== undefined)
  const questioned = { ...calling, desk: tasks?.questions, sealer: linkSealer, mayCall, limits: callerLimits }
  const { part: questionsPart, questions }: Partial<ReturnType<TaskWing['openQuestions']>> =
    wing?.openQuestions(options, questioned, clock) ?? {}

  const sessions =
    clusterPart && options.legacy !== false && canSealAtOnce(logger)
      ? wings.sessionEra?.(options, {
          clusterPart,
          sealing,
          rules: carrying,
          store,
          onDifference,
          declaration,
          registry,
          access,
          results,
          watched,
          identity,
          instructions,
          tasks,
          ttlSeconds,
          clock,
          logger: log,
        })
      : undefined
  const calls: CallHandler = new Pipeline({
    registry,
    lists,
    results,
    hooks,
    subscriptions,
    load,
    limits: callerLimits,
    caching,
    instructions,
    identity,
    declaration,
    logger: log,
    telemetry,
    tasks,
    ownLists: relaying?.ownLists,
    handlers:
      relaying === undefined || clusterPart === undefined
        ? ownHandlers(calling)
        : relaying.handlers({
            registry,
            access,
            rounds,
            results,
            scope: clusterPart.scope,
            calls: clusterPart.forwardedCalls,
            lists,
            logger: log,
          }),
    ready: relaying?.ready,
    sessionMethods: sessions?.methods,
  })

  const legacyHttp = sessions?.http(calls)
  const modernHttp = new ModernHttp(calls, legacyHttp !== undefined)
  const handler = new MessageHandler({ modern: modernHttp, legacy: legacyHttp, logger: log })
  if (clusterPart !== undefined) wings.serveForwarded?.(clusterPart, handler, modernHttp, legacyHttp)
  const endpoint: EndpointParts = {
    handler,
    authenticate: toAuthenticate(options.principal),
    documents: documentsOf(options.principal),
    pages: questionsPart?.pages,
    programs: questionsPart?.programs,
    clientAddress: options.limits?.clientAddress,
    refusalOf: callerLimits && ((...request) => callerLimits.refusalOf(...request)),
    messages: clusterPart?.cluster,
    logger: log,
  }

  // Entries that are added before the server is reachable are no change, so the bus is not used for them.
  let reachable = false
  registry.onChange = (list, entry) => {
    lists.forget(list)
    if (reachable) bus.publish({ kind: 'changed', list, ...(entry !== undefined && { entry }) })
  }

  return {
    registry,
    rounds,
    middleware,
    hooks,
    access,
    bus,
    load,
    limits: callerLimits,
    logger,
    keyring,
    declaration,
    subscriptions,
    calls,
    endpoint,
    clusterPart,
    sessions,
    legacyHttp,
    tasks,
    questions,
    questionDesk: tasks?.questions,
    questionsPart,
    open: async () => {
      reachable = true
      await tasks?.start(questionsPart === undefined ? registry.taskTools : [...registry.tools.keys()])
    },
    warnOfMissingKeys: () => warnOfMissingKeys(keyring, logger),
  }
}
