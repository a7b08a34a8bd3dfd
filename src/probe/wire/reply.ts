/** The reply to one request. Every way in which a server can answer, or fail to, is a kind; so no server makes the probe throw. */
import { isObject, type Json } from '../../protocol/index.ts'

/** A larger reply is not read: no list of tools needs that much. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024

/** The HTTP status and headers of a reply. */
export interface HttpFacts {
  readonly status: number
  /** The value of `Mcp-Session-Id`. A secret. */
  readonly session: string | undefined
  /** Whether there is a `WWW-Authenticate` header. */
  readonly challenge: boolean
  /** The id of the last event, from which a broken stream can be resumed. */
  readonly lastEventId?: string | undefined
}

export type ProbeReply = { readonly http?: HttpFacts } & (
  | { readonly kind: 'result'; readonly result: Json }
  /** A JSON-RPC error, with any HTTP status. Some servers leave out the code. */
  | { readonly kind: 'error'; readonly code: number | undefined; readonly message: string; readonly data: unknown }
  /** An HTTP error status without a JSON-RPC message. */
  | { readonly kind: 'refused'; readonly status: number; readonly text: string }
  /** A redirect that is not followed. */
  | { readonly kind: 'redirected'; readonly to: string; readonly isElsewhere: boolean }
  | { readonly kind: 'timed-out'; readonly waitedMs: number }
  /**
   * No connection, a broken connection, or a process that ended. `why` is the end of a sentence, without its period.
   * `wasConnected` says that the server was there, so the request itself may be the cause.
   */
  | { readonly kind: 'disconnected'; readonly why: string; readonly wasConnected: boolean }
  /** Something came that is no reply of the protocol. */
  | { readonly kind: 'unreadable'; readonly why: string }
  /** Nothing was sent, because the request budget is used up. */
  | { readonly kind: 'not-sent' }
)

export type ResultReply = ProbeReply & { readonly kind: 'result' }

export function isResult(reply: ProbeReply | undefined): reply is ResultReply {
  return reply?.kind === 'result'
}

/** The server wants credentials, or other ones. */
export function isUnauthorized(reply: ProbeReply | undefined): boolean {
  const status = reply?.http?.status
  return status === 401 || status === 403
}

/** The server is overloaded or down for the moment, which says nothing about sessions. */
export function isTemporary(reply: ProbeReply): boolean {
  const status = reply.http?.status
  return status === 429 || status === 502 || status === 503 || status === 504
}

/** The text of an error, to search for words about sessions. HTML pages were left out: they may mention anything. */
export function errorTextOf(reply: ProbeReply): string {
  switch (reply.kind) {
    case 'error':
      return typeof reply.data === 'string' ? `${reply.message} ${reply.data}` : reply.message
    case 'refused':
      return reply.text
    default:
      return ''
  }
}

/** The reply as the end of a sentence that begins with "It". */
export function replyText(reply: ProbeReply): string {
  const status = reply.http === undefined ? '' : ` (HTTP ${reply.http.status})`
  switch (reply.kind) {
    case 'result':
      return 'answers'
    case 'error':
      return `answers with ${reply.code === undefined ? 'an error' : `error ${reply.code}`}${status}: "${reply.message}"`
    case 'refused':
      return `answers HTTP ${reply.status}${reply.text === '' ? '' : `: "${reply.text}"`}`
    case 'redirected':
      return `redirects to ${reply.to}${reply.isElsewhere ? ', which is another origin' : ''}; if that is right, give that address`
    case 'timed-out':
      return `says nothing for ${reply.waitedMs / 1000} s`
    case 'disconnected':
      return `gives no answer: ${reply.why}`
    case 'unreadable':
      return `says something that is no answer${status}: ${reply.why}`
    case 'not-sent':
      return 'was not asked'
    default:
      return reply satisfies never
  }
}

/** Reads a parsed message as the reply to the request with this id; undefined if it is not a reply. */
export function replyIn(value: unknown, id: number): ProbeReply | undefined {
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value] // a batch, as in 2025-03-26
  for (const message of messages) {
    const answer = isObject(message) ? replyFrom(message, id) : undefined
    if (answer !== undefined) return answer
  }
  return undefined
}

function replyFrom(message: Json, id: number): ProbeReply | undefined {
  if ('method' in message) return undefined
  const { id: repliesTo, result, error } = message
  const isOurs = repliesTo === id || repliesTo === String(id)
  // A server that cannot parse a request answers without its id.
  const mayBeOurs = isOurs || repliesTo === null || repliesTo === undefined
  if (isObject(error)) return mayBeOurs ? errorIn(error) : undefined
  if (typeof error === 'string') return mayBeOurs ? errorIn({ message: error }) : undefined
  return isObject(result) && isOurs ? { kind: 'result', result } : undefined
}

/** Makes text of the server safe to show: `shown` removes control characters and secrets. */
export function withPlainText(reply: ProbeReply, shown: (text: string) => string): ProbeReply {
  if (reply.kind !== 'error') return reply
  const { message, data } = reply
  return { ...reply, message: shown(message), data: typeof data === 'string' ? shown(data) : data }
}

/** The method, where a message is a request of the server to its client. */
export function serverRequestIn(value: unknown): string | undefined {
  return isObject(value) && typeof value['method'] === 'string' && 'id' in value ? value['method'] : undefined
}

function errorIn({ code, message, data }: Json): ProbeReply {
  const text = typeof message === 'string' ? message : ''
  return { kind: 'error', code: typeof code === 'number' ? code : undefined, message: text, data }
}
