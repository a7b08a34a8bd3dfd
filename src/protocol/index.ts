export {
  CLIENT_STATE_EXTENSION,
  keepsState,
  readState,
  STATE_SCOPES,
  type StateScope,
  stateKey,
  ECHO_CAPABILITY,
  ABSENT_META_KEY,
  ECHO_META_KEY,
  type EchoPlace,
  echoPlace,
  ROUNDS_CAPABILITY,
  understandsRounds,
} from './extensions.ts'
export { hasEnvelope, isLogLevel, META, metaOf, reaches, readClient, readEnvelope } from './envelope.ts'
export {
  CodedError,
  type ProtocolCode,
  ProtocolError,
  RemoteError,
  remoteErrorIn,
  CODES,
  isServerError,
} from './errors.ts'
export {
  assertHeadersAgree,
  assertPresentAgree,
  decodeHeader,
  type HeaderReader,
  MAX_NAME_CHARS,
  MAX_URI_CHARS,
  mediaTypeOf,
  mismatch,
  requestHeaders,
} from './headers.ts'
export {
  assertOptionNames,
  isOneTypo,
  nameAdvice,
  nearestName,
  type OptionNames,
  optionsNamed,
} from './optionNames.ts'
export {
  answersInShape,
  areQuestions,
  capabilityNames,
  declares,
  declaresAll,
  isElicitAction,
  neededCapability,
  NOT_ACCEPTED,
  ASK_MODEL_META,
  TOOL_META,
} from './inputRequests.ts'
export {
  idOf,
  isId,
  isMessage,
  isObject,
  type Json,
  type Message,
  type RequestId,
  type RequestMessage,
  type ResponseMessage,
  readMessage,
  toObject,
  withoutUndefined,
  OpenRequests,
} from './jsonRpc.ts'
export {
  assertFew,
  assertShallow,
  assertSmallText,
  countMembers,
  MAX_DEPTH,
  MAX_MESSAGE_BYTES,
  maxItems,
  parseJson,
} from './jsonText.ts'
export { assertParamHeaders, findParamHeaders, type ParamHeader, paramHeaderValues } from './paramHeaders.ts'
export {
  declaresTasks,
  hasEnded,
  isTaskStatus,
  offersTasks,
  readRelatedTask,
  progressMeta,
  questionOfTask,
  readProgressMeta,
  relatedTask,
  TaskFailed,
  TASKS_EXTENSION,
  type TaskStatus,
  withRelatedTask,
} from './tasks.ts'
export { createAsyncContext } from './runtime/asyncContext.ts'
export { findNodeModule, host, nodeModule } from './runtime/nodeModule.ts'
export {
  fromBase64url,
  isUtf8,
  joined,
  randomBytes,
  randomUuid,
  sha256,
  toBase64,
  utf8Length,
  utf8Of,
  utf8Text,
} from '#runtime/protocol/runtime/bytes'
export {
  backoffMs,
  DAY_MS,
  DAY_SECONDS,
  inSlices,
  MAX_TIMER_MS,
  onceEvery,
  runLater,
  settledWithin,
  sleep,
  timerMs,
  unlessAborted,
  unref,
} from './timers.ts'
export { remembered, rememberedTexts, setNewest } from './remembered.ts'
export {
  type Era,
  isLegacyVersion,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  negotiateLegacy,
  UNNAMED_LEGACY_VERSION,
  unsupportedVersion,
} from './versions.ts'
export { errorDetails, errorType, type Logger, shortened } from './logger.ts'
