/** Why there is no connection, as a sentence that says what to do. What the server wrote is not part of it. */
import { ClientError } from './errors.ts'
import { causesOf, type FailureReason, failureReason } from './failureReason.ts'

export interface Attempt {
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

export function unauthorized(server: string, cause: unknown): ClientError {
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
