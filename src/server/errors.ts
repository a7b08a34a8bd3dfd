import { CodedError } from '../protocol/index.ts'

/** The errors of the server itself, with their codes: around a handler, and of authentication. */
export const SERVER_CODES = [
  'STATE_STORE_NEEDED',
  'STATE_UNSEALABLE',
  'TOOL_OUTPUT_INVALID',
  'PROMPT_OUTPUT_INVALID',
  'RESOURCE_OUTPUT_INVALID',
  'RESULT_TOO_LARGE',
  'SESSION_UNKNOWN',
  'PUSH_UNANSWERED',
  'TASK_STORE_BROKEN',
  'QUESTION_CLOSED',
] as const

export type ServerCode = (typeof SERVER_CODES)[number]

/** A fault of the server around a handler, or of the handler's result. */
export class ServerError extends CodedError<ServerCode> {
  override readonly name = 'ServerError'
}

/** A result that JSON cannot hold. `ofTool` adds the name of its tool. */
export class UnwritableResultError extends ServerError {
  constructor(cause: unknown, what = 'The result') {
    const advice = 'give a bigint as a string, and look for a cycle or a toJSON that throws'
    super('TOOL_OUTPUT_INVALID', `${what} cannot be written as JSON; ${advice}.`, { cause })
  }

  ofTool(name: string): UnwritableResultError {
    return new UnwritableResultError(this.cause, `The result of the tool "${name}"`)
  }
}

/** The codes in the `data` of an error for a session-era client that comes back for a call. */
export const LOST_CODES = ['CALL_LOST', 'CALL_UNREACHABLE'] as const

export const LIMIT_CODES = ['LIMIT_REQUESTS', 'LIMIT_CALLS'] as const

export type LimitCode = (typeof LIMIT_CODES)[number]

/** Refuses a caller who asks for too much: 429. A middleware or a hook may throw it, too. */
export class LimitError extends CodedError<LimitCode> {
  override readonly name = 'LimitError'
  readonly retryAfterSeconds: number

  constructor(code: LimitCode, message: string, retryAfterSeconds: number) {
    super(code, message)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export const AUTH_CODES = ['AUTH_MISSING', 'AUTH_INVALID', 'AUTH_SCOPE', 'AUTH_UNAVAILABLE'] as const

export type AuthCode = (typeof AUTH_CODES)[number]

export interface AuthErrorOptions extends ErrorOptions {
  /** The WWW-Authenticate header. @default 'Bearer', or none with AUTH_UNAVAILABLE */
  challenge?: string
  /** The exact problem, for the log. */
  reason?: string
  /** Logs a warning: the operator has to look, not the caller. @default false, which logs at the level debug */
  warns?: boolean
}

const AUTH_STATUS = { AUTH_MISSING: 401, AUTH_INVALID: 401, AUTH_SCOPE: 403, AUTH_UNAVAILABLE: 503 } as const

/**
 * Refuses a request: 401 with a challenge, 403 when the caller is known but lacks a scope, 503 when callers cannot be
 * authenticated right now.
 */
export class AuthError extends CodedError<AuthCode> {
  override readonly name = 'AuthError'
  readonly status: 401 | 403 | 503
  readonly challenge: string | undefined
  readonly reason: string | undefined
  readonly warns: boolean

  constructor(code: AuthCode, message: string, { challenge, reason, warns, cause }: AuthErrorOptions = {}) {
    super(code, message, cause === undefined ? undefined : { cause })
    // For authors who write plain JavaScript: without a status the refusal would be sent as a success.
    if (!AUTH_CODES.includes(code)) throw new TypeError(`The code of an AuthError is one of: ${AUTH_CODES.join(', ')}.`)
    this.status = AUTH_STATUS[code]
    this.challenge = challenge ?? (this.status === 503 ? undefined : 'Bearer')
    this.reason = reason
    this.warns = warns ?? false
  }
}
