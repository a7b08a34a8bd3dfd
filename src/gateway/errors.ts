/** What callers hear of a server behind the gateway that did not answer. */
import { failureReason } from '../client/index.ts'
import { CODES, ProtocolError, RemoteError } from '../protocol/index.ts'

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
  /** The number of the JSON-RPC error. @default INTERNAL_ERROR, after which clients may try again */
  readonly code?: number
}

/** Names the server and what the caller can do. Callers get it as a JSON-RPC error with the code in its data. */
export class BackendError extends RemoteError {
  readonly reason: BackendCode
  /** The message without the server's name, as the end of a sentence. */
  readonly why: string

  constructor(reason: BackendCode, server: string, sentence: string, options?: BackendErrorOptions) {
    super(options?.code ?? CODES.INTERNAL_ERROR, `The server "${server}" ${sentence}`, { code: reason, server })
    this.reason = reason
    this.why = sentence
    if (options?.cause !== undefined) this.cause = options.cause
  }
}

/** The server does not know its session any more. The call was not begun, unless there is an answer to it. */
export class SessionForgotten extends BackendError {
  /** The error that the server answered the call with, which is not sent again then. */
  readonly answer: RemoteError | undefined

  constructor(server: string, cause: Error & { readonly answer?: RemoteError | undefined }) {
    super('BACKEND_LOST', server, 'has forgotten the session of this caller. Call again.', { cause })
    this.answer = cause.answer
  }
}

/** Of an entry, after its name or "it". */
const BEHIND_ITSELF = 'is this gateway itself, or leads back to it. Remove the entry, or name another server or file.'

/** The server is the gateway that asks, or has it behind it. */
export class BehindItself extends BackendError {
  constructor(server: string) {
    super('BACKEND_DOWN', server, BEHIND_ITSELF)
  }
}

/** The process of a server ended before it answered, or did not answer in time. */
export class FailedAtStart extends BackendError {
  /** What it printed, for the log of the gateway alone. */
  readonly printed: readonly string[]

  constructor(reason: BackendCode, server: string, sentence: string, printed: readonly string[]) {
    super(reason, server, sentence)
    this.printed = printed
  }
}

/** The server was not reached when it was tried last, or is still tried for the first time. */
export function notThere(server: string, why: string): BackendError {
  return new BackendError('BACKEND_DOWN', server, `is not there: ${why} It is tried again.`)
}

/** A task was lost with what it ran in: its id leads nowhere from now on, and nobody need ask again. */
export function taskLost(server: string, where: string): BackendError {
  const sentence = `had this task in ${where} that has ended. What it did may have happened.`
  return new BackendError('BACKEND_LOST', server, sentence, { code: CODES.INVALID_PARAMS })
}

/** A call ended while its server waited for an answer: nobody knows what it did. */
export function callLost(server: string, name: string, why: string): BackendError {
  const sentence = `was in the middle of "${name}" when ${why}. What it did until then may have happened, and nothing was repeated. Look before you call it again.`
  return new BackendError('CALL_LOST', server, sentence)
}

/** Whether a server ended in the middle of a call, or is not there to begin it anew. */
export function isBackendGone(error: unknown): boolean {
  return error instanceof BackendError && (error.reason === 'BACKEND_LOST' || error.reason === 'BACKEND_DOWN')
}

/** A request was given up, because its time is over. */
export function notInTime(server: string, timeoutMs: number): BackendError {
  return new BackendError('BACKEND_TIMEOUT', server, `has not answered within ${timeoutMs / 1000} seconds.`)
}

export function credentialsRefused(server: string, options?: ErrorOptions): BackendError {
  return new BackendError('BACKEND_REFUSED', server, 'refuses the credentials it was sent.', options)
}

export const REJECTED =
  'keeps something between calls, and this gateway serves no such servers ("stateful": "reject" in its configuration).'
export const WITHHELD =
  'has changed the definition of this tool. It is withheld until an operator of the gateway accepts that.'
export const tooMany = (requests: number): string =>
  `has ${requests} requests under way already. Call again later, or raise its maxInFlight.`
export const tooManyOfCaller = (share: number, requests: number): string =>
  `has ${share} requests of this caller under way, and takes at most so many of its ${requests} from one caller. Call again later, or raise its maxInFlight.`
export const tooLarge = (bytes: number): string =>
  `answered with more than ${bytes} bytes. Ask for less of it, or raise its maxResultBytes.`

export const NO_MESSAGE =
  'answered with something that is no MCP message. Check that its address is that of an MCP server.'
const NOT_THERE: ReadonlySet<number> = new Set([404, 405, 410])

/** Whether the status says that no MCP server is at this path, so that nothing was begun. */
export function isNotThere(status: number): boolean {
  return NOT_THERE.has(status)
}

/** Why a server cannot be used at all, as the end of a sentence. No call was sent that could have had effects. */
export function whyNotThere({ cause, why }: BackendError): string {
  if (cause instanceof ProtocolError) return NO_MESSAGE
  const { status } = failureReason(cause)
  if (status === undefined || status < 400) return why
  return isNotThere(status) ? `answers ${wrongPath(status)}` : `answers HTTP ${status}.`
}

/** As the end of a sentence. */
export const wrongPath = (status: number): string => `HTTP ${status}; check the path of its address.`

/** Whether there is nobody at the address, or nobody who takes what is sent. */
export function isUnreachable(error: unknown): error is BackendError {
  return error instanceof BackendError && (error.reason === 'BACKEND_DOWN' || error.reason === 'BACKEND_REFUSED')
}
