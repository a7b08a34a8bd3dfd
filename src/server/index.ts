export { Declined, JournalError, ScopeClosed, type Watch } from '../journal/index.ts'
export { ProtocolError } from '../protocol/index.ts'
export type { AccessOptions } from './catalog/access.ts'
export type { Architecture } from './catalog/capabilities.ts'
export { Asking, type Context, type DetachableContext } from './handler/context.ts'
export { type Approves, hasClaim } from './auth/approval.ts'
export type { Authenticate, Authenticator, Principal, ReadyAuthenticator } from './auth/authenticator.ts'
export { bearer, type BearerAuthenticator, bearerChallenge, type BearerOptions, type Challenge } from './auth/bearer.ts'
export type { CallResult, HandlerCall, Middleware } from './calls/middleware.ts'
export type { HookedMethod, ResultHook } from './calls/resultHooks.ts'
export type { Carry, CarryByKind, CarryMode, CarryOptions, Difference } from './catalog/carry.ts'
export { failure, type FailureResult, structured, type StructuredResult, text } from './catalog/content.ts'
export type { RequestContext } from './handler/requestContext.ts'
export { createServer } from './createServer.ts'
export type { Server } from './server.ts'
export type { DrainOptions } from './lifecycle/shutdown.ts'
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
} from './catalog/definitions.ts'
export { AuthError, type AuthErrorOptions, LimitError, ServerError } from './errors.ts'
export type { LimitOptions } from './limits/requestLimits.ts'
export { type EventBus, localBus, type ServerEvent } from './lifecycle/eventBus.ts'
export type { FetchHandler, FetchHandlerOptions, RequestRuntime } from './http/fetch.ts'
export { type Elicited, type Form, type InputRequired, inputRequired } from './handler/questions.ts'
export type { Assume, Assumed, SessionClient } from './legacy/assume.ts'
export type { Logger } from './logger.ts'
export type { Listening, ListenOptions } from './http/listen.ts'
export type { HandlerOptions } from './http/endpoint.ts'
export type { NodeHandler } from './http/node.ts'
export type { QuestionOptions, ServerOptions, WorkStore } from './options.ts'
export { type ProtectedResource, type ProtectedResourceOptions, protectedResource } from './auth/protectedResource.ts'
export type { StdioOptions } from './stdio/host.ts'
export type { Call, Caller, Channel, Peer } from './call.ts'
export type { LoginOptions } from './questions/loginOptions.ts'
export {
  chat,
  type ChatOptions,
  mail,
  type MailOptions,
  type NoticeChannel,
  type QuestionNotice,
  webhook,
  type WebhookOptions,
} from './questions/channels.ts'
export type { NamesOf, ServerQuestions } from './questions/openQuestions.ts'
export type {
  QuestionAnswerer,
  NewDeferred,
  NewWork,
  OpenQuestion,
  OpenQuestionPage,
  OpenQuestionsQuery,
  AnswerWay,
  KnownQuestion,
  LinkedQuestion,
  PageReply,
  PageRequest,
  DeferredCalls,
  DeferredAnswer,
  DeferredCallsSite,
  DeferredTool,
  DeferredTools,
  OpenQuestionFilter,
  ProgramQuestions,
  ProgramRequest,
  QuestionAnswer,
  ProgramSite,
  NoticeSite,
  QuestionDesk,
  QuestionOutcome,
  QuestionSite,
  SiteLogin,
  RunOutcome,
  TaskCaller,
  TaskService,
  TaskHost,
  TaskListening,
  Tasks,
  TaskWork,
  DeferredCall,
  WhichDeferred,
} from './taskPort.ts'
