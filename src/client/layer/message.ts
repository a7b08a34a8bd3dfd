/** Reads and makes the messages that pass through layers. */
import { isObject, type Json, META, parseJson, type RequestId } from '../../protocol/index.ts'
import { type ClientCode, registerCode } from '../errors.ts'
import type { SendOptions, WireMessage } from './transport.ts'

export type WireRequest = WireMessage & { readonly id: RequestId; readonly method: string }
export type WireResponse = WireMessage & { readonly id: RequestId }

/** The message in a JSON text; undefined if the value is not a text with a JSON object. */
export function messageIn(text: unknown): WireMessage | undefined {
  const message = typeof text === 'string' ? parseJson(text) : undefined
  return isObject(message) ? message : undefined
}

export function isRequest(message: WireMessage): message is WireRequest {
  return typeof message.method === 'string' && message.id !== undefined
}

export function isResponse(message: WireMessage): message is WireResponse {
  return message.method === undefined && message.id !== undefined
}

const EMPTY: Json = Object.freeze({})

export function paramsOf(message: WireMessage): Json {
  const params = message['params']
  return isObject(params) ? params : EMPTY
}

/** The `_meta` of parameters or of a result, empty if there is none. */
export function metaIn(holder: Json): Json {
  const meta = holder['_meta']
  return isObject(meta) ? meta : EMPTY
}

/** The envelope of a request of the stateless revision, which describes its sender; undefined in a session. */
export function envelopeIn(params: Json): Json | undefined {
  const members = Object.entries(metaIn(params)).filter(([key]) => ENVELOPE.has(key))
  return members.length > 0 ? Object.fromEntries(members) : undefined
}

const ENVELOPE: ReadonlySet<string> = new Set(Object.values(META))

export function withParams(message: WireMessage, params: Json): WireMessage {
  return { ...message, params }
}

export function withMeta(message: WireMessage, added: Json): WireMessage {
  const params = paramsOf(message)
  return { ...message, params: { ...params, _meta: { ...metaIn(params), ...added } } }
}

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || typeof value === 'number'
}

/** An id as the SDKs compare them: they convert a response's id to a number, so "7" and "07" are the id 7. */
export function idKey(id: RequestId): RequestId {
  if (typeof id === 'number') return id
  const number = Number(id)
  return Number.isNaN(number) ? id : number
}

/** The id of the request that a `notifications/cancelled` cancels; undefined for all other messages. */
export function cancelledId(message: WireMessage): RequestId | undefined {
  if (message.method !== 'notifications/cancelled') return undefined
  return paramsOf(message)['requestId'] as RequestId | undefined
}

/** The signal that cancels a request, where the transport has a stream for each request. */
export function requestSignalIn(options: SendOptions | undefined): AbortSignal | undefined {
  const signal = options?.['requestSignal']
  return signal instanceof AbortSignal ? signal : undefined
}

export function resultMessage(id: RequestId, result: Json): WireMessage {
  return { jsonrpc: '2.0', id, result }
}

/** An error response that a layer gives in place of the server or the client. `clientCode` finds the code in it. */
export function errorMessage(
  id: RequestId,
  code: number,
  message: string,
  data?: { readonly code: ClientCode; readonly cause?: unknown; readonly taskId?: string },
): WireMessage {
  if (data !== undefined) registerCode(data)
  return { jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } }
}

const ID_PREFIX = 'pannier-'
let lastId = 0

/** A request id that no client uses, since theirs are numbers, and no other layer of this process has. */
export function mintId(): string {
  return `${ID_PREFIX}${++lastId}`
}

/** Whether some layer made the id. */
export function isMinted(id: unknown): id is string {
  return typeof id === 'string' && id.startsWith(ID_PREFIX)
}

/** Whether a result asks for input. Only `tools/call`, `prompts/get`, `resources/read` and `tasks/result` may (MRTR-7). */
export function asksForInput(result: unknown): boolean {
  return isObject(result) && result['resultType'] === 'input_required'
}

/** The result with `ttlMs: 0` where a client would cache it, so that it does not. */
export function uncacheable(result: Json): Json {
  return CACHEABLE.some((member) => member in result) ? { ...result, ttlMs: 0 } : result
}

const CACHEABLE = ['ttlMs', 'tools', 'prompts', 'resources', 'resourceTemplates', 'contents']
