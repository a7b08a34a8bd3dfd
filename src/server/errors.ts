/** What can go wrong around a handler. */
export const SERVER_CODES = [
  'STATE_STORE_NEEDED',
  'TOOL_OUTPUT_INVALID',
  'SESSION_UNKNOWN',
  'PUSH_UNANSWERED',
  'BODY_TOO_LARGE',
] as const

export type ServerCode = (typeof SERVER_CODES)[number]

export class ServerError extends Error {
  override readonly name = 'ServerError'
  readonly code: ServerCode

  constructor(code: ServerCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

export const AUTH_CODES = ['AUTH_MISSING', 'AUTH_INVALID', 'AUTH_SCOPE'] as const

export type AuthCode = (typeof AUTH_CODES)[number]

/** Turns a request away: 401 with a challenge, or 403 when the caller is known but may not. */
export class AuthError extends Error {
  override readonly name = 'AuthError'
  readonly code: AuthCode
  readonly status: 401 | 403
  /** The WWW-Authenticate header. */
  readonly challenge: string

  constructor(code: AuthCode, message: string, challenge = 'Bearer') {
    super(message)
    this.code = code
    this.status = code === 'AUTH_SCOPE' ? 403 : 401
    this.challenge = challenge
  }
}
