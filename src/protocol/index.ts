export {
  CLIENT_STATE_EXTENSION,
  keepsState,
  readState,
  STATE_SCOPES,
  type StateScope,
  stateKey,
} from './clientState.ts'
export { CODES, isServerError } from './codes.ts'
export { hasEnvelope, META, metaOf, readClient, readEnvelope } from './envelope.ts'
export { CodedError, type ProtocolCode, ProtocolError, RemoteError } from './errors.ts'
export {
  ECHO_CAPABILITY,
  ABSENT_META_KEY,
  ECHO_META_KEY,
  type EchoPlace,
  echoPlace,
  ROUNDS_CAPABILITY,
  understandsRounds,
} from './extensions.ts'
export {
  assertHeadersAgree,
  assertPresentAgree,
  decodeHeader,
  type HeaderReader,
  mediaTypeOf,
  requestHeaders,
} from './headers.ts'
export { assertOptionNames, isMisspelt, isOneTypo, nameAdvice, type OptionNames, optionsNamed } from './optionNames.ts'
export {
  answersInShape,
  declares,
  declaresAll,
  isElicitAction,
  neededCapability,
  NOT_ACCEPTED,
} from './inputRequests.ts'
export {
  idOf,
  isId,
  isObject,
  type Json,
  type Message,
  parseJson,
  type RequestId,
  type RequestMessage,
  type ResponseMessage,
  readMessage,
  toObject,
} from './jsonRpc.ts'
export { isLogLevel, reaches } from './logLevel.ts'
export { OpenRequests } from './openRequests.ts'
export { assertParamHeaders, findParamHeaders, type ParamHeader, paramHeaderValues } from './paramHeaders.ts'
export {
  declaresTasks,
  hasEnded,
  isTaskStatus,
  offersTasks,
  readRelatedTask,
  progressMeta,
  readProgressMeta,
  relatedTask,
  TaskFailed,
  TASKS_EXTENSION,
  type TaskStatus,
} from './tasks.ts'
export {
  type BackoffOptions,
  backoffMs,
  DAY_MS,
  DAY_SECONDS,
  MAX_TIMER_MS,
  runLater,
  settledWithin,
  sleep,
  unref,
} from './timers.ts'
export {
  type Era,
  isLegacyVersion,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  negotiateLegacy,
  UNNAMED_LEGACY_VERSION,
  servedVersions,
  unsupportedVersion,
} from './versions.ts'
