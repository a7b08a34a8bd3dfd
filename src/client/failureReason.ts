/**
 * Why a connection or a request failed, in sentences that say what to do. They are made from error codes and HTTP
 * statuses; text that a server wrote is not part of them, since it may contain what the server was sent. One exception:
 * only the server knows why it refuses access, and when it takes requests again. Its sentence is quoted, without words
 * that may be a token.
 */
import {
  InsufficientScopeError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { isObject, parseJson, type RequestId } from '../protocol/index.ts'
import { ClientError } from './errors.ts'
import { messageIn } from './layer/message.ts'
import type { WireMessage } from './layer/transport.ts'
import { plainLine } from '../questions/index.ts'

/** One attempt to connect. */
interface Attempt {
  /** The server's name for people. */
  readonly name: string
  readonly timeoutMs: number
  /** How the server's process ended, as the end of a sentence; undefined if it runs, or there is none. */
  readonly ended: string | undefined
}

/** What `connect` throws: CONNECT_FAILED or AUTHORIZATION_FAILED, or a `ClientError` that is the cause of the error. */
export function connectFailure(error: unknown, attempt: Attempt): ClientError {
  const ours = [...causesOf(error)].find((cause) => cause instanceof ClientError)
  if (ours !== undefined) return ours
  const reason = failureReason(error)
  if (reason.isUnauthorized) return unauthorized(attempt.name, error)
  const why = reason.status === 429 ? limitReason(error) : connectReason(reason, attempt)
  return new ClientError('CONNECT_FAILED', `Cannot connect to ${attempt.name}: ${why}`, { cause: error })
}

/**
 * The error of a request that could not be sent, or whose response could not be read. Known reasons become a
 * `ClientError`; other errors are given back unchanged.
 */
export function sendFailure(error: unknown): unknown {
  if (error instanceof ClientError) return error
  const { isUnauthorized, why } = failureReason(error)
  if (isUnauthorized) return unauthorized('The server', error)
  if (error instanceof SdkError) return withoutPage(error)
  if (isUnreadable(error)) {
    return new ClientError('MESSAGE_UNREADABLE', "The server's response is not an MCP message.", { cause: error })
  }
  if (why === undefined) return error
  const sentence = `There is no answer: ${why} If the request was sent, it may have had effects.`
  return new ClientError('STREAM_ENDED', sentence, { cause: error })
}

/** Why a request over HTTP failed. */
export interface FailureReason {
  /** The server refuses the credentials, or demands some. */
  readonly isUnauthorized: boolean
  /** The HTTP status of the response, if the request failed because of it. */
  readonly status: number | undefined
  /** The response is neither JSON nor a stream of events: a web page, for example. */
  readonly isPage: boolean
  /** No response came within the time limit. */
  readonly isLate: boolean
  /** Why there was no response, as the end of a sentence; undefined if that is unknown. */
  readonly why: string | undefined
}

/** The reason behind an error of the SDK, of `fetch` or of a process. */
export function failureReason(error: unknown): FailureReason {
  const chain = [...causesOf(error)]
  const status = first(chain, statusOf)
  const isRefused = status === 401 || status === 403
  return {
    isUnauthorized: isRefused || chain.some(isRefusal),
    status,
    isPage: chain.some(({ code }) => code === SdkErrorCode.ClientHttpUnexpectedContent),
    isLate: chain.some(({ code }) => code === SdkErrorCode.RequestTimeout),
    // A TypeError is all that `fetch` gives for a failed request. Undefined if there was an HTTP response.
    why: first(chain, reasonIn) ?? (chain.some(isFetchFailure) ? 'the request could not be made.' : undefined),
  }
}

/** The SDK puts the body of the response into the message. This error has the same data without it. */
export function withoutPage(error: Error): Error {
  if (!(error instanceof SdkHttpError)) return error
  return new SdkHttpError(error.code, `The server answered HTTP ${error.status}.`, error.data, { cause: error })
}

/**
 * The JSON-RPC error response in an HTTP response whose status is an error. The stateless revision has such responses,
 * such as 404 for an unknown method. The SDK's transport reads the body only with status 400.
 */
export function responseIn(error: unknown, id: RequestId): WireMessage | undefined {
  if (!(error instanceof SdkHttpError) || failureReason(error).isUnauthorized) return undefined
  const response = messageIn(isObject(error.data) ? error.data['text'] : undefined)
  if (response === undefined || response['id'] !== id || !isObject(response['error'])) return undefined
  const { code, message, data } = response['error']
  if (!Number.isInteger(code) || typeof message !== 'string') return undefined
  return { jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } }
}

function unauthorized(server: string, cause: unknown): ClientError {
  const chain = [...causesOf(cause)]
  const sentence = first(chain, refusalIn)
  const scope = first(chain, scopeIn)
  const refuses = sentence === undefined ? `${server} refuses access.` : `${server} refuses access: "${sentence}"`
  const advice =
    scope === undefined ? 'Check the bearer token or header, or log in with OAuth.' : `Get a token with ${scope}.`
  return new ClientError('AUTHORIZATION_FAILED', `${refuses} ${advice}`, { cause })
}

function isRefusal(error: Cause): boolean {
  return error instanceof UnauthorizedError || error instanceof InsufficientScopeError
}

/** Why a server refuses a request, in its own words: from its challenge, or from the body in the form of JSON-RPC or OAuth. */
function refusalIn(error: Cause): string | undefined {
  if (error instanceof InsufficientScopeError) return serverWords(error.errorDescription)
  const { text } = sdkData(error)
  const body = typeof text === 'string' ? parseJson(text) : undefined
  if (!isObject(body)) return undefined
  return serverWords(isObject(body['error']) ? body['error']['message'] : body['error_description'])
}

function scopeIn(error: Cause): string | undefined {
  if (!(error instanceof InsufficientScopeError) || error.requiredScope === undefined) return undefined
  const scopes = serverWords(error.requiredScope)
  return scopes === undefined ? undefined : `the ${scopes.includes(' ') ? 'scopes' : 'scope'} "${scopes}"`
}

/** A server that quotes the token it got does not bring it into an error of ours. */
function serverWords(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined
  return plainLine(text.replace(/[\w.~+/=-]{30,}/g, '[hidden]'), 300) || undefined
}

function connectReason({ isLate, why, status }: FailureReason, { timeoutMs, ended }: Attempt): string {
  if (isLate) return `it did not answer within ${timeoutMs / 1000} s.`
  return ended ?? why ?? httpReason(status) ?? 'it does not speak MCP.'
}

function limitReason(error: unknown): string {
  const sentence = first([...causesOf(error)], refusalIn)
  const limits = 'it takes no more requests for now (HTTP 429)'
  return sentence === undefined ? `${limits}; try again later.` : `${limits}: "${sentence}"`
}

function httpReason(status: number | undefined): string | undefined {
  if (status === undefined) return undefined
  if (status === 404 || status === 405)
    return `there is no MCP endpoint at this path (HTTP ${status}). Many servers have it at /mcp.`
  return status >= 300 && status < 400
    ? 'it redirects to another host; use that address.'
    : `it answers HTTP ${status}.`
}

/** Not JSON, or JSON that the SDK's schemas do not accept as a message. */
function isUnreadable(error: unknown): boolean {
  return error instanceof SyntaxError || (error instanceof Error && error.name === 'ZodError')
}

type Cause = Record<string, unknown>

/** The error and its causes. The SDK keeps some causes in `data`, and `fetch` may have several in one `AggregateError`. */
function* causesOf(error: unknown, depth = 0): Generator<Cause> {
  if (!isObject(error) || depth > 8) return
  yield error
  const { cause, errors } = error
  const several: readonly unknown[] = Array.isArray(errors) ? errors : []
  for (const next of [cause, sdkData(error)['cause'], ...several]) yield* causesOf(next, depth + 1)
}

/** The data of an error of the SDK. That of a protocol error was written by the server, and does not count. */
function sdkData(error: Cause): Cause {
  return error instanceof SdkError && isObject(error.data) ? error.data : {}
}

function first<T>(chain: readonly Cause[], find: (cause: Cause) => T | undefined): T | undefined {
  for (const cause of chain) {
    const found = find(cause)
    if (found !== undefined) return found
  }
  return undefined
}

function statusOf(error: Cause): number | undefined {
  const { status } = sdkData(error)
  return typeof status === 'number' ? status : undefined
}

function isFetchFailure(error: Cause): boolean {
  return error instanceof TypeError
}

function reasonIn({ code, syscall, message }: Cause): string | undefined {
  // For the ports of some other protocols `fetch` gives an error without a code.
  if (message === 'bad port') return 'fetch makes no requests to this port; let the server use another one.'
  const isStart = typeof syscall === 'string' && syscall.startsWith('spawn')
  return (isStart ? START_REASONS : NETWORK_REASONS).get(code)
}

const START_REASONS: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'there is no such program, or no such folder to start it in.'],
  ['EACCES', 'there is no permission to start the program.'],
])

const NO_TLS = 'the server does not use TLS; if it serves plain HTTP, write http: in place of https:.'

const NETWORK_REASONS: ReadonlyMap<unknown, string> = new Map([
  ['ECONNREFUSED', 'nothing listens there.'],
  ['ENOTFOUND', 'there is no such host.'],
  ['EAI_AGAIN', 'the name of the host cannot be looked up now.'],
  ['ECONNRESET', 'the connection was cut.'],
  ['EPIPE', 'the connection was cut.'],
  ['EHOSTUNREACH', 'the host cannot be reached.'],
  ['ENETUNREACH', 'the network cannot be reached.'],
  ['ETIMEDOUT', 'the host does not answer.'],
  ['UND_ERR_CONNECT_TIMEOUT', 'the host does not answer.'],
  ['UND_ERR_SOCKET', 'the connection was cut.'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', NO_TLS],
  ['ERR_SSL_PACKET_LENGTH_TOO_LONG', NO_TLS],
  ['CERT_HAS_EXPIRED', 'its certificate has expired.'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'its certificate is self-signed.'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'its certificate is self-signed.'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'its certificate cannot be verified.'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for another host.'],
])
