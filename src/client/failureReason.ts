/** What an error of the SDK, of `fetch` or of a process means, in a few words. What a server wrote is no part of them. */
import { SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client'
import { isObject, type RequestId } from '../protocol/index.ts'
import { ClientError } from './errors.ts'
import { messageIn } from './layer/message.ts'
import type { WireMessage } from './layer/transport.ts'

export interface FailureReason {
  /** The server wants to know who calls, or does not let them. */
  readonly isUnauthorized: boolean
  /** The HTTP status it answered with, if that is what failed. */
  readonly status: number | undefined
  /** Nothing came in the time that was given. */
  readonly isLate: boolean
  /** Why there was no answer, as the end of a sentence; undefined where it is not known. */
  readonly why: string | undefined
}

export function failureReason(error: unknown): FailureReason {
  const chain = [...causesOf(error)]
  const status = first(chain, statusOf)
  const isLocked = status === 401 || status === 403
  return {
    isUnauthorized: isLocked || chain.some((cause) => cause instanceof UnauthorizedError),
    status,
    isLate: chain.some(({ code }) => code === SdkErrorCode.RequestTimeout),
    // `fetch` says of every failure that it failed; a server that answers something else has not failed.
    why: first(chain, reasonIn) ?? (chain.some(isFetchFailure) ? 'the request could not be made.' : undefined),
  }
}

type Cause = Record<string, unknown>

/** The error and what caused it. The SDK keeps some causes in `data`, and `fetch` keeps several in one. */
function* causesOf(error: unknown, depth = 0): Generator<Cause> {
  if (!isObject(error) || depth > 8) return
  yield error
  const { cause, errors } = error
  const several: readonly unknown[] = Array.isArray(errors) ? errors : []
  for (const next of [cause, ownData(error)['cause'], ...several]) yield* causesOf(next, depth + 1)
}

/** The data of the SDK's own errors; that of a protocol error is the server's. */
function ownData(error: Cause): Cause {
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
  const { status } = ownData(error)
  return typeof status === 'number' ? status : undefined
}

function isFetchFailure(error: Cause): boolean {
  return error instanceof TypeError
}

function reasonIn({ code, syscall, message }: Cause): string | undefined {
  // All that `fetch` has for the ports of other protocols.
  if (message === 'bad port') return 'programs may not make requests to this port; serve at another one.'
  const isStart = typeof syscall === 'string' && syscall.startsWith('spawn')
  return (isStart ? START_REASONS : NETWORK_REASONS).get(code)
}

const START_REASONS: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'there is no such program, or no such folder to start it in.'],
  ['EACCES', 'the program may not be started.'],
])

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
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'what answers there does not speak TLS; is it http: and not https:?'],
  ['ERR_SSL_PACKET_LENGTH_TOO_LONG', 'what answers there does not speak TLS; is it http: and not https:?'],
  ['CERT_HAS_EXPIRED', 'its certificate has expired.'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'its certificate is self-signed.'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'its certificate is self-signed.'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'its certificate cannot be verified.'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for another host.'],
])

/** Why there is no connection, as a sentence that says what to do. What the server wrote is not part of it. */

interface Attempt {
  /** The server, as people know it. */
  readonly name: string
  readonly timeoutMs: number
  /** How the server's process ended, if it is one and has. */
  readonly ended: string | undefined
}

export function connectFailure(error: unknown, attempt: Attempt): ClientError {
  const ours = [...causesOf(error)].find((cause) => cause instanceof ClientError)
  if (ours !== undefined) return ours
  const reason = failureReason(error)
  if (reason.isUnauthorized) return unauthorized(attempt.name, error)
  return new ClientError('CONNECT_FAILED', `Cannot connect to ${attempt.name}: ${whyOf(reason, attempt)}`, {
    cause: error,
  })
}

function unauthorized(server: string, cause: unknown): ClientError {
  const advice = 'Check the bearer token or header, or log in with OAuth.'
  return new ClientError('AUTHORIZATION_FAILED', `${server} does not let us in. ${advice}`, { cause })
}

function whyOf({ isLate, why, status }: FailureReason, { timeoutMs, ended }: Attempt): string {
  if (isLate) return `it did not answer within ${timeoutMs / 1000} s.`
  return ended ?? why ?? httpReason(status) ?? 'it does not speak MCP.'
}

function httpReason(status: number | undefined): string | undefined {
  if (status === undefined) return undefined
  if (status === 404 || status === 405) return `there is no MCP endpoint at this path (HTTP ${status}).`
  return status >= 300 && status < 400
    ? 'it redirects to another host; use that address.'
    : `it answers HTTP ${status}.`
}

/**
 * What a request fails with that could not be sent, or whose answer could not be read. What is known becomes an error of
 * ours with a sentence; the rest stays what it is.
 */
export function sendFailure(error: unknown): unknown {
  if (error instanceof ClientError) return error
  const { isUnauthorized, why } = failureReason(error)
  if (isUnauthorized) return unauthorized('The server', error)
  if (error instanceof SdkError) return withoutPage(error)
  if (isUnreadable(error)) {
    return new ClientError('MESSAGE_UNREADABLE', 'What the server answered is no message of MCP.', { cause: error })
  }
  if (why === undefined) return error
  const sentence = `There is no answer: ${why} If the request was sent, it may have had effects.`
  return new ClientError('STREAM_ENDED', sentence, { cause: error })
}

/** The SDK puts the whole page into the message, and servers put what they were sent into their pages. */
export function withoutPage(error: Error): Error {
  if (!(error instanceof SdkHttpError)) return error
  return new SdkHttpError(error.code, `The server answered HTTP ${error.status}.`, error.data, { cause: error })
}

/** No JSON, or JSON in which the SDK's schemas find no message. */
function isUnreadable(error: unknown): boolean {
  return error instanceof SyntaxError || (error instanceof Error && error.name === 'ZodError')
}

/**
 * The answer to a request, where it came with a status that is an error. The stateless revision has such answers, as 404
 * with a method that the server does not know; of 400 alone the SDK's transport reads the body.
 */
export function answerIn(error: unknown, id: RequestId): WireMessage | undefined {
  if (!(error instanceof SdkHttpError) || failureReason(error).isUnauthorized) return undefined
  const answer = messageIn(isObject(error.data) ? error.data['text'] : undefined)
  if (!isObject(answer) || answer['id'] !== id || !isObject(answer['error'])) return undefined
  const { code, message, data } = answer['error']
  if (!Number.isInteger(code) || typeof message !== 'string') return undefined
  return { jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } }
}
