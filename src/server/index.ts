export { Declined, JournalError, ScopeClosed, type Watch } from '../journal/index.ts'
export { ProtocolError } from '../protocol/index.ts'
export type { Architecture } from './architecture.ts'
export { Asking } from './asking.ts'
export type { Authenticate, Authenticator, Principal, ReadyAuthenticator } from './authenticator.ts'
export { bearer, type BearerAuthenticator, type BearerOptions } from './bearer.ts'
export type { CarryMode, Difference } from './carrier.ts'
export { bearerChallenge, type Challenge } from './challenge.ts'
export { failure, structured, text } from './content.ts'
export type { Context } from './context.ts'
export type { DetachableContext } from './detachableContext.ts'
export { createServer, type DrainOptions, type Server } from './createServer.ts'
export type {
  CompletionHandler,
  CompletionTarget,
  DetachingToolHandler,
  PromptHandler,
  PromptOptions,
  ResourceHandler,
  ResourceOptions,
  ResourceTemplateHandler,
  TaskOptions,
  ToolHandler,
  ToolOptions,
} from './definitions.ts'
export { AuthError, type AuthErrorOptions, ServerError } from './errors.ts'
export { type EventBus, localBus, type ServerEvent } from './eventBus.ts'
export type { FetchHandler } from './fetchHost.ts'
export type { Elicited, Form } from './form.ts'
export { type InputRequired, inputRequired } from './inputRequired.ts'
export type { Logger } from './logger.ts'
export type { Listening, ListenOptions } from './listen.ts'
export type { HandlerOptions, NodeHandler } from './nodeHost.ts'
export type { ServerOptions } from './options.ts'
export { type ProtectedResource, type ProtectedResourceOptions, protectedResource } from './protectedResource.ts'
export type { StdioOptions } from './stdioHost.ts'
export type { Call, Channel } from './call.ts'
export type { Peer } from './peer.ts'
export type {
  NewWork,
  Stretch,
  TaskCaller,
  TaskDesk,
  TaskHost,
  TaskListening,
  Tasks,
  TaskWork,
} from './tasks.ts'
