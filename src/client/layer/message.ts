/** Reading and making messages as they pass through layers. */
import { isObject, type Json, META, type RequestId } from '../../protocol/index.ts'
import { type ClientCode, registerCode } from '../errors.ts'
import type { SendOptions, WireMessage } from './transport.ts'

export type WireRequest = WireMessage & { readonly id: RequestId; readonly method: string }
export type WireAnswer = WireMessage & { readonly id: RequestId }

export function isRequest(message: WireMessage): message is WireRequest {
  return typeof message.method === 'string' && message.id !== undefined
}

export function isAnswer(message: WireMessage): message is WireAnswer {
  return message.method === undefined && message.id !== undefined
}

const NOTHING: Json = Object.freeze({})

export function paramsOf(message: WireMessage): Json {
  const params = message['params']
  return isObject(params) ? params : NOTHING
}

/** The `_meta` of parameters or of a result, empty where there is none. */
export function metaIn(holder: Json): Json {
  const meta = holder['_meta']
  return isObject(meta) ? meta : NOTHING
}

/** What a request of the stateless revision says about its sender; undefined in a session, which has said it. */
export function envelopeIn(params: Json): Json | undefined {
  const said = Object.entries(metaIn(params)).filter(([key]) => ENVELOPE.has(key))
  return said.length > 0 ? Object.fromEntries(said) : undefined
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

/** An id as the SDKs compare them: to them "7" and "07" are 7, so a server may write either. */
export function idKey(id: RequestId): RequestId {
  if (typeof id === 'number') return id
  const number = Number(id)
  return Number.isNaN(number) ? id : number
}

/** The request that a `notifications/cancelled` ends. */
export function cancelledId(message: WireMessage): RequestId | undefined {
  if (message.method !== 'notifications/cancelled') return undefined
  return paramsOf(message)['requestId'] as RequestId | undefined
}

/** The signal by which the caller of a request gives it up, where the transport has a stream for each request. */
export function requestSignalIn(options: SendOptions | undefined): AbortSignal | undefined {
  const signal = options?.['requestSignal']
  return signal instanceof AbortSignal ? signal : undefined
}

export function resultMessage(id: RequestId, result: Json): WireMessage {
  return { jsonrpc: '2.0', id, result }
}

/** An answer that a layer gives in a peer's place. `data.code` is one of ours. */
export function errorMessage(
  id: RequestId,
  code: number,
  message: string,
  data?: { readonly code: ClientCode; readonly cause?: unknown; readonly taskId?: string },
): WireMessage {
  if (data !== undefined) registerCode(data)
  return { jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } }
}

const OURS = 'pannier-'
let minted = 0

/** An id that no client counts up to, and no other layer of this process has. */
export function mintId(): string {
  return `${OURS}${++minted}`
}

/** Whether a layer made the id, be it this one or another. */
export function isMinted(id: unknown): id is string {
  return typeof id === 'string' && id.startsWith(OURS)
}

/** A result that says it may be kept for later, made to say that it may not. */
export function uncacheable(result: Json): Json {
  return CACHEABLE.some((member) => member in result) ? { ...result, ttlMs: 0 } : result
}

const CACHEABLE = ['ttlMs', 'tools', 'prompts', 'resources', 'resourceTemplates', 'contents']
