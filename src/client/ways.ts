/**
 * The ways to connect to a server, and their order after a failure. Servers of the session era may answer anything to
 * the first request of the stateless era, and those of 2024-11-05 are reached over another transport.
 */
import { type PriorDiscovery, SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import { ClientError } from './errors.ts'
import { failureReason } from './failureReason.ts'

/** `sse` is the session era over HTTP+SSE, the transport of the revision 2024-11-05. */
export type ServerEra = 'stateless' | 'session' | 'sse'

/** `ask`: the server is asked for its era. */
export type ConnectWay = ServerEra | 'ask'

/** The values of the option `era`. */
export const SERVER_ERAS: readonly ServerEra[] = ['stateless', 'session', 'sse']

/** What was tried. */
export interface FailedAttempt {
  readonly way: ConnectWay
  readonly error: unknown
  readonly isProcess: boolean
  /** Whether the server's process has ended. */
  readonly hasEnded: boolean
}

export function firstWay(era: ServerEra | undefined, prior: PriorDiscovery | undefined): ConnectWay {
  return era ?? (prior?.kind === 'legacy' ? 'session' : 'ask')
}

/** The way to try next; undefined if the error is final. */
export function nextWay({ way, error, isProcess, hasEnded }: FailedAttempt): ConnectWay | undefined {
  if (way === 'stateless' || way === 'sse' || isFinal(error)) return undefined
  const isProbe = way === 'ask' && isProbeFailure(error)
  // Some session-era programs exit when a request comes before `initialize`. They are started again without the probe.
  if (isProcess) return isProbe && hasEnded ? 'session' : undefined
  if (isProbe) return 'session'
  // A server of 2024-11-05 has no endpoint for POST at this address.
  return (failureReason(error).status ?? 0) >= 400 ? 'sse' : undefined
}

function isFinal(error: unknown): boolean {
  const { isUnauthorized, status, why } = failureReason(error)
  // Another attempt would only use up more of the limit that 429 is about.
  return error instanceof ClientError || isUnauthorized || status === 429 || (why !== undefined && !/cut/.test(why))
}

/** The server gave no usable reply to the first request. */
function isProbeFailure(error: unknown): boolean {
  const code = error instanceof SdkError ? error.code : undefined
  return code === SdkErrorCode.EraNegotiationFailed || code === SdkErrorCode.RequestTimeout
}

/** The error to report if all ways failed: from the last way that is not only for old servers. */
export function mostTelling(tried: readonly FailedAttempt[]): FailedAttempt | undefined {
  const last = tried.at(-1)
  if (last === undefined || last.way !== 'sse' || failureReason(last.error).isUnauthorized) return last
  return tried.findLast(({ way }) => way !== 'sse') ?? last
}
