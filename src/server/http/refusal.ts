/** Replies that refuse a request, and the errors that become such replies. */
import { CODES, type RequestId } from '../../protocol/index.ts'
import { AuthError, LimitError } from '../errors.ts'
import { errorDetails, type Logger } from '../logger.ts'
import { errorMessage } from '../results.ts'
import { isExpected, toWireError } from '../wireErrors.ts'
import type { HttpReply } from './exchange.ts'

const RETRY_AFTER_SECONDS = 5

/** Refuses a request before it is parsed. */
export function refusal(status: number, message: string): HttpReply {
  return { status, body: errorMessage(undefined, { code: CODES.INVALID_REQUEST, message, status }) }
}

/** Thrown while the body of a request is read, to refuse the request. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused'
  readonly reply: HttpReply

  constructor(reply: HttpReply) {
    super(`The request was refused with status ${reply.status}.`)
    this.reply = reply
  }
}

/** The reply to a request that failed outside of a call handler. */
export function errorReply(error: unknown, logger: Logger, id?: RequestId): HttpReply {
  if (error instanceof RequestRefused) return error.reply
  if (error instanceof AuthError) return authReply(error, logger)
  const wire = toWireError(error)
  if (error instanceof LimitError) return limitReply(error, id)
  if (!isExpected(error)) logger.error({ err: errorDetails(error) }, 'A request failed.')
  // Call handlers answer these errors with 200; here they get a status of their own.
  const status = wire.status !== 200 ? wire.status : wire.code === CODES.INTERNAL_ERROR ? 500 : 400
  return { status, body: errorMessage(id, wire) }
}

function limitReply(error: LimitError, id: RequestId | undefined): HttpReply {
  const { retryAfterSeconds } = error
  return {
    status: 429,
    headers: { 'retry-after': String(retryAfterSeconds) },
    body: errorMessage(id, toWireError(error)),
  }
}

function authReply(error: AuthError, logger: Logger): HttpReply {
  const { code, reason, challenge, cause } = error
  const { status, ...wire } = toWireError(error)
  const body = errorMessage(undefined, { status, ...wire })
  if (status === 503) {
    logger.error({ code, err: errorDetails(cause) }, 'Callers cannot be authenticated right now.')
    return { status, headers: { 'retry-after': String(RETRY_AFTER_SECONDS) }, body }
  }
  if (error.warns) logger.warn({ code, reason }, 'Callers bring tokens that are not for this server.')
  else logger.debug({ code, reason }, 'A caller was refused.')
  return { status, ...(challenge !== undefined && { headers: { 'www-authenticate': challenge } }), body }
}
