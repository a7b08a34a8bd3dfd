/** Why there is no connection, as a sentence that says what to do. What the server wrote is not part of it. */
import { SdkErrorCode, UnauthorizedError } from '@modelcontextprotocol/client'
import { isObject } from '../protocol/index.ts'
import { ClientError } from './errors.ts'

export interface Attempt {
  /** The server, as people know it. */
  readonly name: string
  readonly timeoutMs: number
  /** How the server's process ended, if it is one and has. */
  readonly ended: string | undefined
}

export function connectFailure(error: unknown, { name, timeoutMs, ended }: Attempt): ClientError {
  if (error instanceof ClientError) return error
  const chain = [...causesOf(error)]
  const status = first(chain, statusOf)
  const isUnauthorized = chain.some((cause) => cause instanceof UnauthorizedError) || status === 401 || status === 403
  if (isUnauthorized) {
    const advice = 'Check the bearer token or header, or log in with OAuth.'
    return new ClientError('AUTHORIZATION_FAILED', `${name} does not let us in. ${advice}`, { cause: error })
  }
  const why = first(chain, (cause) => reasonIn(cause, timeoutMs)) ?? httpReason(status) ?? ended ?? unsaid(chain)
  return new ClientError('CONNECT_FAILED', `Cannot connect to ${name}: ${why}`, {
    cause: error,
  })
}

/** The error and what caused it. The SDK keeps some causes in `data`, and `fetch` keeps several in one. */
function* causesOf(error: unknown, depth = 0): Generator<Record<string, unknown>> {
  if (!isObject(error) || depth > 8) return
  yield error
  const { cause, data, errors } = error
  const several: readonly unknown[] = Array.isArray(errors) ? errors : []
  for (const next of [cause, isObject(data) ? data['cause'] : undefined, ...several]) yield* causesOf(next, depth + 1)
}

function first<T>(chain: readonly Record<string, unknown>[], find: (cause: Record<string, unknown>) => T | undefined) {
  for (const cause of chain) {
    const found = find(cause)
    if (found !== undefined) return found
  }
  return undefined
}

function reasonIn({ code, syscall }: Record<string, unknown>, timeoutMs: number): string | undefined {
  if (code === SdkErrorCode.RequestTimeout) return `it did not answer within ${timeoutMs / 1000} s.`
  const isStart = typeof syscall === 'string' && syscall.startsWith('spawn')
  return typeof code === 'string' ? (isStart ? START_REASONS : NETWORK_REASONS)[code] : undefined
}

const START_REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such program, or no such folder to start it in.',
  EACCES: 'the program may not be started.',
}

const NETWORK_REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there.',
  ENOTFOUND: 'there is no such host.',
  EAI_AGAIN: 'the name of the host cannot be looked up now.',
  ECONNRESET: 'the connection was cut.',
  EHOSTUNREACH: 'the host cannot be reached.',
  ENETUNREACH: 'the network cannot be reached.',
  ETIMEDOUT: 'the host does not answer.',
  UND_ERR_CONNECT_TIMEOUT: 'the host does not answer.',
  UND_ERR_SOCKET: 'the connection was cut.',
  CERT_HAS_EXPIRED: 'its certificate has expired.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed.',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is self-signed.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate cannot be verified.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host.',
}

/** `fetch` says of every failure that it failed; a server that answers something else has not failed. */
function unsaid(chain: readonly Record<string, unknown>[]): string {
  const isNetwork = chain.some((cause) => cause instanceof TypeError)
  return isNetwork ? 'the request could not be made.' : 'it does not speak MCP.'
}

function statusOf({ data }: Record<string, unknown>): number | undefined {
  const status = isObject(data) ? data['status'] : undefined
  return typeof status === 'number' ? status : undefined
}

function httpReason(status: number | undefined): string | undefined {
  if (status === undefined) return undefined
  if (status === 404 || status === 405) return `there is no MCP endpoint at this path (HTTP ${status}).`
  return status >= 300 && status < 400
    ? 'it redirects to another host; use that address.'
    : `it answers HTTP ${status}.`
}
