import { ProtocolError } from './errors.ts'

/** The id of a JSON-RPC request. */
export type RequestId = string | number
/** An object of JSON. */
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

/**
 * SEP-1685 left open where answers and state stand; SEP-2322 decided it. If they were ignored, the peer would ask for
 * them again.
 */
const DEPENDENT_RESPONSES =
  '"dependent_responses" is a form that SEP-2322 replaced: send the answers as "params.inputResponses", and the state as "params.requestState".'

const NO_PARAMS: Json = Object.freeze({})

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Reads one parsed JSON value as a JSON-RPC message; throws, naming the field that is wrong. */
export function readMessage(value: unknown): Message {
  const fault = faultIn(value)
  if (fault !== undefined) throw new ProtocolError('MESSAGE_INVALID', fault)
  const { id, method, params = NO_PARAMS, result, error, state } = value as MessageFields
  if (method === undefined) return { kind: 'response', id, result, error: error && shortError(error), state }
  return 'id' in (value as object) ? { kind: 'request', id, method, params } : { kind: 'notification', method, params }
}

/** Whether `readMessage` accepts a value. Costs little, and throws nothing. */
export function isMessage(value: unknown): boolean {
  return faultIn(value) === undefined
}

/** The members of a message without a fault. */
interface MessageFields {
  readonly id: RequestId
  readonly method?: string
  readonly params?: Json
  readonly result: Json | undefined
  readonly error: ResponseMessage['error']
  readonly state: unknown
}

function faultIn(value: unknown): string | undefined {
  if (!isObject(value)) return batchOrScalar(value)
  if (value['jsonrpc'] !== '2.0') return '"jsonrpc" must be "2.0".'
  const { method, params } = value
  if (method === undefined) return responseFault(value)
  if (typeof method !== 'string') return '"method" must be a string.'
  if (params !== undefined && !isObject(params)) return '"params" must be an object.'
  if (!('id' in value)) return undefined
  return 'dependent_responses' in value ? DEPENDENT_RESPONSES : idFault(value['id'])
}

function responseFault({ id, result, error }: Record<string, unknown>): string | undefined {
  if ((result === undefined) === (error === undefined)) return 'A message needs a "method", a "result" or an "error".'
  const fault = idFault(id)
  if (fault !== undefined) return fault
  if (result !== undefined) return isObject(result) ? undefined : '"result" must be an object.'
  const isError = isObject(error) && typeof error['code'] === 'number' && typeof error['message'] === 'string'
  return isError ? undefined : '"error" must have a numeric "code" and a "message".'
}

function idFault(id: unknown): string | undefined {
  return isId(id)
    ? undefined
    : `"id" must be an integer or a string of at most ${MAX_ID_CHARS} characters, and not null.`
}

function shortError({ code, message }: NonNullable<ResponseMessage['error']>): ResponseMessage['error'] {
  return { code, message }
}

/** The id for an error response to a message that could not be read. A response has an id, too, but gets no response. */
export function idOf(value: unknown): RequestId | undefined {
  if (!isObject(value) || 'result' in value || 'error' in value) return undefined
  const { id } = value
  return isId(id) ? id : undefined
}

/** Whether a request may have this id. */
export function isId(id: unknown): id is RequestId {
  return (typeof id === 'string' && id.length <= MAX_ID_CHARS) || (typeof id === 'number' && Number.isSafeInteger(id))
}

function batchOrScalar(value: unknown): string {
  return Array.isArray(value)
    ? 'This revision has no batches: send each message by itself.'
    : 'A message must be a JSON object.'
}

/** The members that are set. */
export function withoutUndefined(members: Readonly<Record<string, unknown>>): Json {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

/** An object that may have any key, `__proto__` included. */
export function toObject<T>(entries: ReadonlyMap<string, T>): Record<string, T> {
  const object = Object.create(null) as Record<string, T>
  for (const [key, value] of entries) object[key] = value
  return object
}

/**
 * Requests under way by id: a Map for entries that come and go quickly.
 *
 * V8 replaces the table of such a Map often, and each replaced table points to the next one. A table in the old
 * generation keeps all later tables and their values alive until the next full garbage collection, which took a server
 * on standard input and output a sixth of its time. So each value is in its own box, which is emptied when its entry is
 * deleted.
 */
export class OpenRequests<T> {
  readonly #boxes = new Map<RequestId, { value: T | undefined }>()

  get size(): number {
    return this.#boxes.size
  }

  set(id: RequestId, value: T): void {
    this.delete(id)
    this.#boxes.set(id, { value })
  }

  get(id: RequestId): T | undefined {
    return this.#boxes.get(id)?.value
  }

  has(id: RequestId): boolean {
    return this.#boxes.has(id)
  }

  /** Returns whether it was there. */
  delete(id: RequestId): boolean {
    const box = this.#boxes.get(id)
    if (box === undefined) return false
    box.value = undefined
    return this.#boxes.delete(id)
  }

  *values(): Generator<T> {
    for (const { value } of this.#boxes.values()) if (value !== undefined) yield value
  }
}
