/** Errors that callers get for a server behind the gateway that did not answer. */
import { failureReason } from '../client/index.ts'
import { COUNTED, MAX_QUESTIONS } from '../client/internal.ts'
import { CODES, isObject, type Json, ProtocolError, RemoteError } from '../protocol/index.ts'
import { EARLIER } from '../server/internal.ts'

/** The codes of errors that callers of a gateway get. */
export const BACKEND_CODES = [
  'BACKEND_DOWN',
  'BACKEND_LOST',
  'BACKEND_TIMEOUT',
  'BACKEND_INVALID',
  'BACKEND_BUSY',
  'BACKEND_REFUSED',
  'CALL_LOST',
  'CALL_EXPIRED',
  'CALLER_UNPLACED',
  'CALLER_MOVED',
] as const

export type BackendCode = (typeof BACKEND_CODES)[number]

interface BackendErrorOptions extends ErrorOptions {
  /** The JSON-RPC error code. @default INTERNAL_ERROR, after which clients may retry */
  readonly code?: number
  /** Advice for a call of which no round was sent to the server. */
  readonly unsent?: string
}

/** Names the server, and advises the caller. Callers get a JSON-RPC error with the reason in its data. */
export class BackendError extends RemoteError {
  readonly reason: BackendCode
  /** The message without the server's name, as the end of a sentence. */
  readonly why: string

  constructor(reason: BackendCode, server: string, sentence: string, options?: BackendErrorOptions) {
    const advice = options?.unsent === undefined ? '' : ` The call was not begun. ${options.unsent}`
    super(options?.code ?? CODES.INTERNAL_ERROR, `The server "${server}" ${sentence}${advice}`, {
      code: reason,
      server,
    })
    this.reason = reason
    this.why = sentence
    if (options?.cause !== undefined) this.cause = options.cause
  }

  /** The same error for a call that has run in earlier rounds or attempts. */
  get inLaterRound(): BackendError {
    // These messages already mention earlier rounds.
    if (this.reason === 'CALL_LOST' || this.why.endsWith(EARLIER)) return this
    const { server } = this.data as { server: string }
    return new BackendError(this.reason, server, `${this.why} ${EARLIER}`, {
      code: this.code,
      cause: this.cause,
    })
  }
}

/** The code of a BackendError, also of one received from another gateway; undefined for other errors. */
export function backendCodeOf(error: unknown): BackendCode | undefined {
  if (error instanceof BackendError) return error.reason
  const code = error instanceof RemoteError && isObject(error.data) ? error.data['code'] : undefined
  return BACKEND_CODES.find((known) => known === code)
}

/** The error as the caller gets it. `isLater`: earlier rounds or attempts of the call have run. */
export function inRound(error: unknown, isLater: boolean): unknown {
  return isLater && error instanceof BackendError ? error.inLaterRound : error
}

/** The server has lost the session. It has not started the call, unless `answer` is set. */
export class SessionForgotten extends BackendError {
  /** The server's error answer to the call, which is then not sent again. */
  readonly answer: RemoteError | undefined

  constructor(server: string, cause: Error & { readonly answer?: RemoteError | undefined }) {
    super('BACKEND_LOST', server, 'has forgotten the session of this caller. Call again.', { cause })
    this.answer = cause.answer
  }
}

/** Continues a sentence after the name of an entry, or after "it". */
const BEHIND_ITSELF = 'is this gateway itself, or leads back to it. Remove the entry, or name another server or file.'

/** The server is this gateway itself, or leads back to it. */
export class BehindItself extends BackendError {
  constructor(server: string) {
    super('BACKEND_DOWN', server, BEHIND_ITSELF)
  }
}

/** The process of a server exited before it answered, or did not answer in time. */
export class FailedAtStart extends BackendError {
  /** The lines it printed, for the gateway's log only. */
  readonly printed: readonly string[]

  constructor(reason: BackendCode, server: string, sentence: string, printed: readonly string[]) {
    super(reason, server, sentence)
    this.printed = printed
  }
}

/** The server could not be reached at the last attempt, or the first attempt is still running. */
export function notThere(server: string, why: string): BackendError {
  return new BackendError('BACKEND_DOWN', server, `is not there: ${why} It is tried again.`)
}

/** A task was lost with its process or session. Its id is invalid from then on, so clients stop polling. */
export function taskLost(server: string, where: string): BackendError {
  const sentence = `had this task in ${where} that has ended. What it did may have happened.`
  return new BackendError('BACKEND_LOST', server, sentence, { code: CODES.INVALID_PARAMS })
}

/** A call ended while its server waited for an answer, with unknown effects. */
export function callLost(server: string, name: string, why: string): BackendError {
  const sentence = `was in the middle of "${name}" when ${why}. What it did until then may have happened, and nothing was repeated. Look before you call it again.`
  return new BackendError('CALL_LOST', server, sentence)
}

export function callerMoved(server: string): BackendError {
  const sentence = 'was just taken over by another gateway for this caller.'
  return new BackendError('CALLER_MOVED', server, sentence, { unsent: 'Call again.' })
}

/** Whether a server ended in the middle of a call, or cannot be reached to run it again. */
export function isBackendGone(error: unknown): boolean {
  return error instanceof BackendError && (error.reason === 'BACKEND_LOST' || error.reason === 'BACKEND_DOWN')
}

export function notInTime(server: string, timeoutMs: number): BackendError {
  return new BackendError('BACKEND_TIMEOUT', server, `has not answered within ${timeoutMs / 1000} seconds.`)
}

export function credentialsRefused(server: string, options?: ErrorOptions): BackendError {
  return new BackendError('BACKEND_REFUSED', server, 'refuses the credentials it was sent.', options)
}

export const REJECTED =
  'keeps something between calls, and this gateway serves no such servers ("stateful": "reject" in its configuration).'
export const WITHHELD =
  'has changed the definition of this tool, or added the tool. It is withheld until an operator of the gateway accepts that.'
export const tooMany = (requests: number): string =>
  `has ${requests} requests under way already. Call again later, or raise its maxInFlight.`
export const tooManyOfCaller = (share: number, requests: number): string =>
  `has ${share} requests of this caller under way. One caller may have ${share} of its ${requests}. Call again later, or raise its maxInFlight.`
export const tooLarge = (bytes: number): string =>
  `answered with more than ${bytes} bytes, ${COUNTED}. Ask for less of it, or raise its maxResultBytes.`
export const tooManyQuestions = (questions: number): string =>
  `asked ${questions} questions at once, and at most ${MAX_QUESTIONS} are passed on. Report this to the author of the server.`
export const tooLongForPeople = (characters: number, most: number): string =>
  `asked a question of ${characters} characters, and at most ${most} can wait for a person. Report this to the author of the server.`

/** A message of a server exceeds the limit and was not read. */
export function overLimit(server: string, { message }: Pick<Error, 'message'>): BackendError {
  const sentence = `answered with too much. ${message} Ask for less of it, or raise its maxResultBytes.`
  return new BackendError('BACKEND_INVALID', server, sentence)
}

/** The server's output cannot be parsed, so its link is closed. */
export function unreadable(server: string, { message }: Pick<Error, 'message'>): BackendError {
  const sentence = `is broken. ${message} What the call does may have happened. Report this to the author of the server.`
  return new BackendError('BACKEND_INVALID', server, sentence)
}

export const NO_MESSAGE =
  'answered with something that is no MCP message. Check that its address is that of an MCP server.'
export const WRONG_FORM =
  'answered with a malformed question or task. What the call does may have happened. Report this to the author of the server.'
const NOT_THERE: ReadonlySet<number> = new Set([404, 405, 410])

/** Whether the status means that no MCP server is at this path, so that no call was started. */
export function isNotThere(status: number): boolean {
  return NOT_THERE.has(status)
}

/** The reason why a server cannot be used at all, as the end of a sentence. No call with effects was sent. */
export function whyNotThere({ cause, why }: BackendError): string {
  if (cause instanceof ProtocolError) return NO_MESSAGE
  const { status } = failureReason(cause)
  if (status === undefined || status < 400) return why
  return isNotThere(status) ? `answers ${wrongPath(status)}` : `answers HTTP ${status}.`
}

/** As the end of a sentence. */
export const wrongPath = (status: number): string => `HTTP ${status}; check the path of its address.`

/** Whether the server cannot be reached, or refuses requests. */
export function isUnreachable(error: unknown): error is BackendError {
  return error instanceof BackendError && (error.reason === 'BACKEND_DOWN' || error.reason === 'BACKEND_REFUSED')
}

/** The result of a validated response. Throws its error as another server or gateway wrote it. */
export function resultOf({ result, error }: Json): Json {
  if (isObject(result)) return result
  const { code, message, data } = error as { code: number; message: string; data?: unknown }
  throw new RemoteError(code, message, data)
}

/** The error for a request without an answer. `wasSent`: whether the server may have got it. */
export function unanswered(server: string, cause: unknown, wasSent: boolean): BackendError {
  const { why = 'the connection is broken.' } = failureReason(cause)
  if (!wasSent) return new BackendError('BACKEND_DOWN', server, `cannot be reached: ${why}`, { cause })
  const sentence = `gave no answer: ${why} What the call does may have happened.`
  return new BackendError('BACKEND_LOST', server, sentence, { cause })
}
