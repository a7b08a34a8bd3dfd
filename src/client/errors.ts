import { CodedError, isObject } from '../protocol/index.ts'

/** The codes of errors on the client's side. `docs/reference/errors.md` says what to do about each. */
export const CLIENT_CODES = [
  'TARGET_INVALID',
  'CONFIG_UNREADABLE',
  'CONFIG_INVALID',
  'CONFIG_VARIABLE_MISSING',
  'CONNECT_FAILED',
  'AUTHORIZATION_FAILED',
  'REQUEST_TIMED_OUT',
  'TERMINAL_MISSING',
  'QUESTION_UNSUPPORTED',
  'QUESTION_REFUSED',
  'QUESTION_UNANSWERED',
  'RESPONSE_INVALID',
  'FOLDER_UNUSABLE',
  'SAVED_INVALID',
  'SAVED_NEWER',
  'SAVED_UNUSABLE',
  'INPUT_INVALID',
  'INPUT_UNDECLARED',
  'INPUT_TOO_LARGE',
  'ANSWER_FAILED',
  'ROUNDS_ENDLESS',
  'ROUND_UNSENT',
  'RESULT_UNKNOWN',
  'RESULT_INVALID',
  'REQUEST_UNRELATED',
  'JAR_UNAVAILABLE',
  'STREAM_ENDED',
  'TASK_INVALID',
  'TASK_CANCELLED',
  'TASK_EXPIRED',
  'TASK_UNFINISHED',
  'TASK_UNREACHABLE',
  'TASK_UNANSWERABLE',
  'TASKS_MISSING',
  'MESSAGE_UNREADABLE',
] as const

/** Ends the message of an error without quoting its cause, because a server may have written the cause. */
export const SEE_CAUSE = 'The reason is in error.data.cause.'

export type ClientCode = (typeof CLIENT_CODES)[number]

/** The class of the errors of this folder. Its message says what to do, and never contains a token, a state or an answer. */
export class ClientError extends CodedError<ClientCode> {
  override readonly name: string = 'ClientError'
}

/** A server asks for input in answer to a request that cannot ask. */
export function inputMisplaced(): ClientError {
  return new ClientError('RESULT_UNKNOWN', 'The server asked for input in answer to a request that cannot ask.')
}

/**
 * The code of an error of this folder: one that was thrown, or one that a layer gave as the answer to a request. A code
 * that a server wrote into the data of its own error does not count.
 */
export function clientCode(error: unknown): ClientCode | undefined {
  if (error instanceof ClientError) return error.code
  return isObject(error) ? registeredCode(error['data']) : undefined
}

/** The `data` objects that layers of this process put into error responses. */
const registered = new WeakMap<object, ClientCode>()

/** Marks error data as made by a layer, because a server can send data with the same content. */
export function registerCode(data: { readonly code: ClientCode }): void {
  registered.set(data, data.code)
}

export function registeredCode(data: unknown): ClientCode | undefined {
  return isObject(data) ? registered.get(data) : undefined
}
