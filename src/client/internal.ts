/** Exports for other folders of this package, not for users. These names are not stable. */
export { fieldsWithoutDefault } from './answerers/builtin.ts'
export { httpUrlFault } from './config/address.ts'
export { type EntryProblem, errnoOf, type FieldPath, readAddress, URL_FIELDS, urlFieldOf } from './config/entry.ts'
export { parseCommentedTree, type Env, entryPlace, readConfigFile } from './config/mcpJson.ts'
export { expand, type Variables } from './config/variables.ts'
export { responseIn } from './failureReason.ts'
export { MAX_QUESTIONS } from './questions/limits.ts'
export { authorizedFetch } from './transports/authorization.ts'
export { StdioTransport } from './transports/stdio.ts'
export { EventParser, type StreamEvent } from './transports/eventStream.ts'
export { sameOrigin } from './transports/boundedFetch.ts'
export { headersOf, sseTransport } from './transports/http.ts'
export { NO_LOGIN, NO_LOGIN_ADVICE, offersLogin } from './transports/authorizationAddress.ts'
export {
  COUNTED,
  eventBytes,
  type SizeCounter,
  totalBytes,
  mayBeMessage,
  MessageOverLimit,
  parseServerText,
  refusalOf,
  ServerUnreadable,
  UnreadableRun,
} from './transports/serverMessage.ts'
export { readPaced } from './transports/pacedReading.ts'
export { guardGroups } from './transports/processGroup.ts'
