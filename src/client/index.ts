export type { Json, RequestId, TaskStatus } from '../protocol/index.ts'
export type { Address, CommandAddress, HttpAddress } from './config/address.ts'
export type { Answerer, Answerers, Asked, AskedCall } from './questions/answerer.ts'
export {
  createLayer as around,
  type LayerContext as Ends,
  type LayerHandlers as Passage,
  compose,
} from './layer/layer.ts'
export type { Authorizer } from './transports/authorization.ts'
export {
  byKind,
  type DefaultsOptions,
  defaults,
  type FixedOptions,
  fixed,
  type Folder,
  folders,
  type Model,
  model,
  type Said,
  refuse,
} from './answerers/builtin.ts'
export { type ConnectOptions, connect } from './connect.ts'
export { type DeadlineOptions, deadline } from './layer/deadline.ts'
export { echo, echoLines } from './echo/layer.ts'
export { echoFetch, type EchoFetchOptions } from './echo/fetch.ts'
export { CLIENT_CODES, type ClientCode, clientCode, ClientError } from './errors.ts'
export { type FailureReason, failureReason } from './failureReason.ts'
export { type JarLayerOptions, jar } from './jar/layer.ts'
export type { JarChoice } from './jar/open.ts'
export { lineReader } from './transports/lineReader.ts'
export { entryNames } from './config/mcpJson.ts'
export type { Notice } from './notice.ts'
export { openPage, readVisitAddress, type VisitAddress } from './answerers/visit.ts'
export { placeOf, type SavedPlace, targetOf, type UnsavedParts } from './config/savedPlace.ts'
export { plainLine, plainText } from '../questions/index.ts'
export { writePrivateFile, type SavedFile, savedFile } from './suspend/savedFile.ts'
export { endGroup, startGroup } from './transports/processGroup.ts'
export type { Given } from './questions/response.ts'
export { type CallingClient, type ResumeOptions, resume, type Sender, type Through } from './suspend/resume.ts'
export { type RoundsOptions, rounds } from './rounds/layer.ts'
export { type AskingMethod, readSaved, type SavedCall } from './suspend/savedCall.ts'
export { type Refused, type ScopeOptions, scope } from './scope/layer.ts'
export { scopeFetch } from './scope/fetch.ts'
export { type SavedStore, type Suspended, type SuspendOptions, suspend, suspendedOf } from './suspend/suspend.ts'
export { addressOf, nameOf, storable, type Target } from './config/target.ts'
export type { Task, TaskErrorObject as TaskError } from './tasks/task.ts'
export { taskOf } from './tasks/handle.ts'
export {
  answerTask,
  cancelTask,
  getTask,
  type TaskClient,
  type TaskRequestOptions,
  type WatchOptions,
  watchTask,
} from './tasks/requests.ts'
export { tasks, type TasksOptions } from './tasks/layer.ts'
export { tasksFetch } from './tasks/fetch.ts'
export { type TerminalOptions, terminal } from './answerers/terminal.ts'
export type { Layer, SendOptions, Transport, WireMessage } from './layer/transport.ts'
export { SERVER_ERAS, type ServerEra } from './ways.ts'
export { expandVariables } from './config/variables.ts'
