/** The messages that the probe sends. The first two equal those of the detection document, byte for byte. */
import { type Json, LEGACY_VERSIONS, META, MODERN_VERSION, type RequestId } from '../../protocol/index.ts'

export interface Request {
  readonly jsonrpc: '2.0'
  readonly id: number
  readonly method: string
  readonly params: Json
}

export interface Notification {
  readonly jsonrpc: '2.0'
  readonly method: string
  readonly params?: Json
}

/** The answer to a question of the server. */
export interface AnswerMessage {
  readonly jsonrpc: '2.0'
  readonly id: RequestId
  readonly result: Json
}

const clientInfo = { name: 'probe', version: '1.0' }

export const INITIALIZE: Request = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2024-11-05', capabilities: {}, clientInfo },
}

export const LIST_TOOLS: Request = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }

export const INITIALIZED: Notification = { jsonrpc: '2.0', method: 'notifications/initialized' }

export const PING: Request = { jsonrpc: '2.0', id: 5, method: 'ping', params: {} }

/** Begins a session of the newest revision that has them, in which the server may ask something. */
export function initializeWith(capabilities: Json): Request {
  return request(1, 'initialize', { protocolVersion: LEGACY_VERSIONS[0], capabilities, clientInfo })
}

export function cancelled(requestId: number): Notification {
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }
}

/** A request of the session era. */
export function request(id: number, method: string, params: Json = {}): Request {
  return { jsonrpc: '2.0', id, method, params }
}

/** A request of the stateless revision, with its envelope. */
export function modernRequest(id: number, method: string, params: Json = {}, capabilities: Json = {}): Request {
  const envelope = { [META.version]: MODERN_VERSION, [META.client]: clientInfo, [META.capabilities]: capabilities }
  return request(id, method, { ...params, _meta: envelope })
}

export const DISCOVER: Request = modernRequest(3, 'server/discover')
