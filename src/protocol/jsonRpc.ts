import { ProtocolError } from './errors.ts'

export type RequestId = string | number
export type Json = Readonly<Record<string, unknown>>

export interface RequestMessage {
  readonly kind: 'request'
  readonly id: RequestId
  readonly method: string
  readonly params: Json
}

export interface NotificationMessage {
  readonly kind: 'notification'
  readonly method: string
  readonly params: Json
}

/** A response to a request that this side sent. `state` is the top-level member of SEP-1685. */
export interface ResponseMessage {
  readonly kind: 'response'
  readonly id: RequestId
  readonly result: Json | undefined
  readonly error: { readonly code: number; readonly message: string } | undefined
  readonly state: unknown
}

export type Message = RequestMessage | NotificationMessage | ResponseMessage

// Every message about a request repeats its id, so a long id would make us send and store much.
const MAX_ID_CHARS = 1024

const NO_PARAMS: Json = Object.freeze({})

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value of a JSON text; undefined where the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Reads one parsed JSON value as a JSON-RPC message; throws, naming the field that is wrong. */
export function readMessage(value: unknown): Message {
  if (!isObject(value)) throw invalid(batchOrScalar(value))
  if (value['jsonrpc'] !== '2.0') throw invalid('"jsonrpc" must be "2.0".')
  const method = value['method']
  if (method === undefined) return readResponse(value)
  if (typeof method !== 'string') throw invalid('"method" must be a string.')
  const params = readParams(value['params'])
  if (!('id' in value)) return { kind: 'notification', method, params }
  return { kind: 'request', id: readId(value['id']), method, params }
}

/** The id for an error response to a message that could not be read. A response has an id, too, but gets no response. */
export function idOf(value: unknown): RequestId | undefined {
  if (!isObject(value) || 'result' in value || 'error' in value) return undefined
  const { id } = value
  return isId(id) ? id : undefined
}

function readParams(params: unknown): Json {
  if (params === undefined) return NO_PARAMS
  if (!isObject(params)) throw invalid('"params" must be an object.')
  return params
}

function readId(id: unknown): RequestId {
  if (!isId(id))
    throw invalid(`"id" must be an integer or a string of at most ${MAX_ID_CHARS} characters, and not null.`)
  return id
}

/** Whether a request may have this id. */
export function isId(id: unknown): id is RequestId {
  return (typeof id === 'string' && id.length <= MAX_ID_CHARS) || (typeof id === 'number' && Number.isSafeInteger(id))
}

function readResponse(value: Record<string, unknown>): ResponseMessage {
  const { result, error, state } = value
  if ((result === undefined) === (error === undefined)) {
    throw invalid('A message needs a "method", a "result" or an "error".')
  }
  const id = readId(value['id'])
  if (result !== undefined) {
    if (!isObject(result)) throw invalid('"result" must be an object.')
    return { kind: 'response', id, result, error: undefined, state }
  }
  if (!isObject(error) || typeof error['code'] !== 'number' || typeof error['message'] !== 'string') {
    throw invalid('"error" must have a numeric "code" and a "message".')
  }
  return { kind: 'response', id, result: undefined, error: { code: error['code'], message: error['message'] }, state }
}

function batchOrScalar(value: unknown): string {
  return Array.isArray(value)
    ? 'This revision has no batches: send each message by itself.'
    : 'A message must be a JSON object.'
}

function invalid(sentence: string): ProtocolError {
  return new ProtocolError('MESSAGE_INVALID', sentence)
}

/** An object that may have any key, `__proto__` included. */
export function toObject<T>(entries: ReadonlyMap<string, T>): Record<string, T> {
  const object = Object.create(null) as Record<string, T>
  for (const [key, value] of entries) object[key] = value
  return object
}
