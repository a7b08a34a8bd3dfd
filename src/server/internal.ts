/** What other folders of this package need, and its users do not. Nothing is promised about these names. */
export { type Assembly, assemble } from './assemble.ts'
export type { Principal } from './auth/authenticator.ts'
export type { Call, Peer } from './call.ts'
export { CallLifetime } from './calls/lifetime.ts'
export type { CallerLists, HandlerMethods } from './calls/pipeline.ts'
export type { MethodParts } from './calls/relaying.ts'
export { assertRoundLeft, needsState, runHandler } from './calls/run.ts'
export type { PromptEntry, ResourceEntry, TemplateEntry, ToolEntry } from './catalog/entries.ts'
export type { Capability, Entries, ListName } from './catalog/registry.ts'
export type { DetachableContext } from './handler/context.ts'
export { InputRequired } from './handler/questions.ts'
export { Generations } from './legacy/push/generations.ts'
export type {
  Admission,
  ByteSink,
  EndpointRequest,
  HostSink,
  HttpReply,
  RequestHandler,
} from './http/exchange.ts'
export { type FetchHandler, fetchHandler } from './http/fetch.ts'
export { openListener } from './http/listen.ts'
export { type NodeHandler, nodeHandler, pathOf, send } from './http/node.ts'
export { errorReply, refusal } from './http/refusal.ts'
export { sseEvent } from './http/sse.ts'
export type { Connections } from './http/connections.ts'
export { networkOf } from './limits/holders.ts'
export { type CallCounter, MemoryCalls } from './limits/requestLimits.ts'
export { drainOnTerm } from './lifecycle/processSignals.ts'
export { keyringOf } from './keys.ts'
export { assertDrainOptions, DRAIN_MS, Shutdown } from './lifecycle/shutdown.ts'
export { errorDetails, type Logger, LoggerSlot, shortened } from './logger.ts'
export { reachableHost } from './replicas/advertise.ts'
export { type Instance, readInstance, writeInstance } from './replicas/instance.ts'
export { isInstanceMessage } from './replicas/messenger.ts'
export type { MissingPeer } from './replicas/seeker.ts'
export { errorMessage, resultMessage, withObjectOutput } from './results.ts'
export { serveStdio } from './stdio/host.ts'
export { tracerOf } from './telemetry/telemetry.ts'
export { toWireError } from './wireErrors.ts'
export { createHostGuard } from './http/hostGuard.ts'
export { isLocalHost } from './localHost.ts'
