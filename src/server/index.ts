export { Declined, JournalError, ScopeClosed } from '../journal/index.ts'
export { ProtocolError } from '../protocol/index.ts'
export type { Authenticate, Authenticator, Principal, ReadyAuthenticator } from './authenticator.ts'
export type { CarryMode, Difference } from './carrier.ts'
export { failure, structured, text } from './content.ts'
export type { Context } from './context.ts'
export { createServer, type DrainOptions, type Server } from './createServer.ts'
export type {
  CompletionHandler,
  CompletionTarget,
  PromptHandler,
  PromptOptions,
  ResourceHandler,
  ResourceOptions,
  ResourceTemplateHandler,
  ToolHandler,
  ToolOptions,
} from './definitions.ts'
export { AuthError, ServerError } from './errors.ts'
export { type EventBus, localBus, type ServerEvent } from './eventBus.ts'
export type { Elicited, Form } from './form.ts'
export { type InputRequired, inputRequired } from './inputRequired.ts'
export type { Logger } from './logger.ts'
export type { Listening, ListenOptions } from './nodeHost.ts'
export type { ServerOptions } from './options.ts'
export type { StdioOptions } from './stdioHost.ts'
