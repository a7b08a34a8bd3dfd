/** The only place where an error of this package becomes a JSON-RPC error. */
import { Declined, JournalError } from '../journal/index.ts'
import { CODES, type ProtocolCode, ProtocolError, RemoteError, TaskFailed } from '../protocol/index.ts'
import { StateError } from '../state/internal.ts'
import { type Call, isLaterRound } from './call.ts'
import { AuthError, LimitError, ServerError } from './errors.ts'

export interface WireError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
  /** The HTTP status that goes with it in the stateless era. */
  readonly status: number
}

const PROTOCOL: Readonly<Record<ProtocolCode, readonly [code: number, status: number]>> = {
  PARSE_FAILED: [CODES.PARSE_ERROR, 400],
  MESSAGE_INVALID: [CODES.INVALID_REQUEST, 400],
  METHOD_UNKNOWN: [CODES.METHOD_NOT_FOUND, 404],
  PARAMS_INVALID: [CODES.INVALID_PARAMS, 200],
  RESOURCE_UNKNOWN: [CODES.INVALID_PARAMS, 200],
  ENVELOPE_INVALID: [CODES.INVALID_PARAMS, 400],
  HEADER_MISMATCH: [CODES.HEADER_MISMATCH, 400],
  CAPABILITY_MISSING: [CODES.MISSING_CLIENT_CAPABILITY, 400],
  VERSION_UNSUPPORTED: [CODES.UNSUPPORTED_PROTOCOL_VERSION, 400],
}

// The same error for every reason why a state is refused, so that an attacker learns nothing by trying.
const BAD_STATE: WireError = {
  code: CODES.INVALID_PARAMS,
  message: 'The request state is not valid here (any more). Repeat the call from its first round.',
  status: 200,
}

const HANDLER_METHODS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

const NO_EFFECTS = 'Send the request again in a moment.'
const BEGUN = 'The call has begun and may have had effects; look before you repeat it.'
/** The error of a call that failed after it had partly run. */
export const EARLIER =
  'Earlier rounds or attempts of this call have run and may have had effects; look before you repeat it from its start.'

/** `request`: the failed request, if known. */
export function toWireError(error: unknown, request?: Call): WireError {
  if (error instanceof ProtocolError) {
    const [code, status] = PROTOCOL[error.code]
    return { code, status, message: error.message, ...(error.data !== undefined && { data: error.data }) }
  }
  if (error instanceof TaskFailed || error instanceof RemoteError) {
    const { code, message, data } = error
    return {
      code,
      status: error instanceof TaskFailed ? 200 : statusOf(code),
      message,
      ...(data !== undefined && { data }),
    }
  }
  if (isBadState(error)) return BAD_STATE
  if (error instanceof AuthError)
    return {
      code: error.status === 503 ? CODES.INTERNAL_ERROR : CODES.INVALID_REQUEST,
      status: error.status,
      message: error.message,
    }
  if (error instanceof LimitError) {
    const { message, retryAfterSeconds } = error
    return { code: CODES.INVALID_REQUEST, status: 429, message, data: { retryAfterSeconds } }
  }
  if (error instanceof ServerError || error instanceof JournalError)
    return { code: CODES.INTERNAL_ERROR, status: 200, message: error.message }
  if (error instanceof StateError && /^(STORE|LEDGER)_/.test(error.code)) return storeFault(error, request)
  return { code: CODES.INTERNAL_ERROR, status: 200, message: 'Internal error.' }
}

/** Advice for a request that failed in the middle. */
function effectsOf(request: Call | undefined): string {
  if (request === undefined || !HANDLER_METHODS.has(request.method)) return NO_EFFECTS
  return isLaterRound(request) ? EARLIER : BEGUN
}

/** Why a store cannot be used is for the log: a message may name its address. */
function storeFault({ code }: StateError, request: Call | undefined): WireError {
  const message = `A store of this server cannot be used now. ${effectsOf(request)}`
  return { code: CODES.INTERNAL_ERROR, status: 200, message, data: { code } }
}

/** The status of an error that came from elsewhere with its number only. */
function statusOf(code: number): number {
  return Object.values(PROTOCOL).find(([known]) => known === code)?.[1] ?? 200
}

/** Whether an error is the answer to the request rather than a fault of this server. */
export function isExpected(error: unknown): boolean {
  if (error instanceof AuthError) return error.status !== 503
  if (error instanceof LimitError || isUnanswered(error)) return true
  if (error instanceof TaskFailed || error instanceof RemoteError) return true
  return error instanceof ProtocolError || isBadState(error) || error instanceof Declined
}

/** Whether a question got no answer: its client failed to answer, or has too many questions. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof ServerError && error.code === 'PUSH_UNANSWERED'
}

/** Whether the client sent a bad state. A failure of a store, a ledger or a key ring is a fault of this server. */
function isBadState(error: unknown): boolean {
  return error instanceof StateError && !/^(STORE|LEDGER|KEYS)_/.test(error.code)
}
