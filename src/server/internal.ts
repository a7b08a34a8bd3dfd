/** Names for other folders of this package. Nothing is promised about them. */
export { type Assembly, assemble } from './createServer.ts'
export { assemble as assembleParts, type ServerParts } from './assemble.ts'
export type { Principal } from './auth/authenticator.ts'
export { hasClaim, namedBy, namesOf } from './auth/approval.ts'
export { type Call, isLaterRound, type Peer, type TracedCall } from './call.ts'
export { CallLifetime } from './calls/lifetime.ts'
export type { CallerLists, HandlerMethods } from './calls/pipeline.ts'
export type { ClientEvent } from './forwarding/calls.ts'
export type { MethodParts } from './calls/relaying.ts'
export { MAX_ROUNDS } from './calls/rounds.ts'
export { taskWing } from './calls/taskWing.ts'
export { assertRoundLeft, needsState, runHandler } from './calls/runHandler.ts'
export {
  type PromptEntry,
  type ResourceEntry,
  type TemplateEntry,
  toolEntry,
  type ToolEntry,
} from './catalog/entries.ts'
export type { Listing } from './catalog/lists.ts'
export type { Capability, Entries, ListName } from './catalog/registry.ts'
export type { Caching } from './options.ts'
export { isAskable } from './handler/askable.ts'
export { Context, type DetachableContext } from './handler/context.ts'
export { InputRequired } from './handler/questions.ts'
export type {
  Admission,
  ByteSink,
  EndpointRequest,
  HostSink,
  HttpReply,
  RequestHandler,
} from './http/exchange.ts'
export { type FetchHandler, fetchHandler } from './http/fetch.ts'
export { openListener, portInUse } from './http/listen.ts'
export { type NodeHandler, nodeHandler, pathOf, send } from './http/node.ts'
export { CONTINUE_TOOL } from './questions/tools.ts'
export type { DeferredTool } from './taskPort.ts'
export { errorReply, refusal } from './http/refusal.ts'
export { sseEvent } from './http/sse.ts'
export type { Connections } from './http/connections.ts'
export { networkOf } from './limits/quotaCaller.ts'
export { type CallCounter, MemoryCalls } from './limits/requestLimits.ts'
export { Server } from './server.ts'
export { drainOnTerm } from './lifecycle/processSignals.ts'
export { keyringOf, messageSealer } from './keys.ts'
export { DRAIN_MS } from './lifecycle/shutdown.ts'
export { assertDrainOptions, Shutdown } from './lifecycle/shutdown.ts'
export { lineLogger } from './node/lineLogger.ts'
export { errorDetails, type Logger, LoggerSlot, shortened } from './logger.ts'
export type { NewRequest } from './forwarding/newRequests.ts'
export { errorMessage, notificationMessage, resultMessage, withObjectOutput } from './results.ts'
export { serveStdio } from './stdio/host.ts'
export { openTelemetry, tracerOf } from './telemetry/telemetry.ts'
export { EARLIER, toWireError } from './wireErrors.ts'
export { createHostGuard } from './http/hostGuard.ts'
export { isLocalHost } from './localHost.ts'
export { authenticatorAt, principalDetails } from './auth/authenticator.ts'
