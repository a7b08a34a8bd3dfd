/** What an error of the SDK, of `fetch` or of a process means, in a few words. What a server wrote is no part of them. */
import { SdkError, SdkErrorCode, UnauthorizedError } from '@modelcontextprotocol/client'
import { isObject } from '../protocol/index.ts'

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
export function* causesOf(error: unknown, depth = 0): Generator<Cause> {
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
