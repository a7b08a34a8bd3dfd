import { ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import { type ClientCode, clientCode, ClientError, failureReason, plainLine } from '../client/index.ts'
import { ProbeError } from '../probe/index.ts'
import { CODES } from '../protocol/index.ts'
import { StateError } from '../state/internal.ts'
import { serverText } from './output/layout.ts'

/** The exit codes. Scripts rely on exit codes, so their meanings never change. */
export const EXIT = {
  ok: 0,
  toolError: 1,
  badInput: 2,
  noConnection: 3,
  protocolError: 4,
  declined: 5,
  suspended: 6,
  timedOut: 7,
  interrupted: 130,
  terminated: 143,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** For the help of every command that talks to a server. */
export const EXIT_HELP = `

Exit codes:
  0    done
  1    the tool ran and says that it failed (isError)
  2    the command line, a file or a variable cannot be used
  3    there is no connection: unreachable, silent, not started, lost, or not authorized
  4    the server answered with an error, or not by the protocol
  5    a question was declined or cancelled, and the call failed
  6    suspended: continue with "pannier resume FILE"
  7    the server was silent for --timeout seconds in a call
  130  interrupted with Ctrl-C; the request was cancelled on the server
  143  terminated; the request was cancelled, too`

/** Invalid input of the user. The message says what to give instead. */
export class InputError extends Error {
  override readonly name = 'InputError'
}

/** A gateway says that it has not reached the server that is meant. */
export class AbsentServerError extends Error {
  override readonly name = 'AbsentServerError'
}

export interface Failure {
  readonly exitCode: ExitCode
  readonly text: string
}

/** The text and exit code of an error. Undefined for an error that only a fault of this program can cause. */
export function failureOf(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) return undefined
  const exitCode = exitCodeOf(error)
  if (exitCode !== undefined) return { exitCode, text: failureText(error) + taskHint(error) }
  return error instanceof ProtocolError ? serverFailure(error) : undefined
}

/** The HTTP status in place of the message, where a server answered with a page. */
function failureText(error: Error): string {
  const { status } = failureReason(error)
  const isPage = status !== undefined && !(error instanceof ClientError)
  return isPage ? `The server answered HTTP ${status}.` : serverText(withCause(error))
}

/** A task that was followed stays on the server, and its id was not shown before. */
function taskHint(error: Error): string {
  const data: unknown = 'data' in error ? error.data : undefined
  const id: unknown = typeof data === 'object' && data !== null && 'taskId' in data ? data.taskId : undefined
  const code = clientCode(error)
  if (typeof id !== 'string' || code === 'TASK_CANCELLED' || code === 'TASK_EXPIRED') return ''
  return `\nIts task stays on the server. Follow it with: pannier task watch TARGET ${plainLine(id)}`
}

/**
 * Rewrites advice for programmers: names the program's option instead of the library's, and the cause instead of
 * `error.data.cause`.
 */
function withCause(error: Error): string {
  const own = ownMessage(error.message)
  const message = clientCode(error) === 'ROUNDS_ENDLESS' ? own.replace('"maxRounds"', '--max-rounds') : own
  if (!CAUSE_POINTER.test(message)) return message
  const data: unknown = 'data' in error ? error.data : undefined
  const cause: unknown = typeof data === 'object' && data !== null && 'cause' in data ? data.cause : undefined
  const { why, status } = failureReason(cause)
  const reason =
    cause instanceof ClientError ? cause.message : (why ?? (status && `the server answered HTTP ${status}.`))
  return message.replace(CAUSE_POINTER, reason ? ` Reason: ${reason}` : '')
}

const CAUSE_POINTER = / The reason is in error\.data\.cause\.$/

function exitCodeOf(error: Error): ExitCode | undefined {
  const code = clientCode(error)
  if (code !== undefined) return EXIT_BY_CODE.get(code) ?? EXIT.protocolError
  if (error instanceof InputError || error instanceof StateError || error instanceof ProbeError) return EXIT.badInput
  if (error instanceof AbsentServerError) return EXIT.protocolError
  if (error instanceof SdkError) return sdkExitCode(error.code)
  // The SDK has no class for this error.
  return error.message === 'Not connected' ? EXIT.noConnection : undefined
}

/** A JSON-RPC error that the server sent. */
function serverFailure({ code, message }: ProtocolError): Failure {
  const hint = code === CODES.MISSING_CLIENT_CAPABILITY ? `\n${NO_ANSWERER_HINT}` : ''
  return {
    exitCode: EXIT.protocolError,
    text: `The server answered with error ${code}: ${serverText(message)}${hint}`,
  }
}

export const NO_ANSWERER_HINT =
  'It wants to ask something. Run this in a terminal, or give --answers, --yes, --decline or --suspend.'

/** The SDK puts the error number before some messages. */
function ownMessage(message: string): string {
  return message.replace(/^MCP error -?\d+: /, '')
}

/** Errors of every other code count as protocol errors. */
const CODES_BY_EXIT: Readonly<Record<'badInput' | 'noConnection' | 'timedOut', readonly ClientCode[]>> = {
  badInput: [
    'TARGET_INVALID',
    'CONFIG_UNREADABLE',
    'CONFIG_INVALID',
    'CONFIG_VARIABLE_MISSING',
    'TERMINAL_MISSING',
    'QUESTION_UNANSWERED',
    'QUESTION_UNSUPPORTED',
    'QUESTION_REFUSED',
    'RESPONSE_INVALID',
    'FOLDER_UNUSABLE',
    'SAVED_INVALID',
    'SAVED_NEWER',
    'SAVED_UNUSABLE',
    'JAR_UNAVAILABLE',
    'TASK_UNANSWERABLE',
  ],
  noConnection: ['CONNECT_FAILED', 'AUTHORIZATION_FAILED', 'ROUND_UNSENT', 'STREAM_ENDED', 'TASK_UNREACHABLE'],
  timedOut: ['REQUEST_TIMED_OUT', 'TASK_UNFINISHED'],
}

const EXIT_BY_CODE: ReadonlyMap<ClientCode, ExitCode> = new Map(
  Object.entries(CODES_BY_EXIT).flatMap(([exit, codes]) =>
    codes.map((code) => [code, EXIT[exit as keyof typeof CODES_BY_EXIT]]),
  ),
)

function sdkExitCode(code: SdkErrorCode): ExitCode {
  switch (code) {
    case SdkErrorCode.RequestTimeout:
      return EXIT.timedOut
    case SdkErrorCode.NotConnected:
    case SdkErrorCode.ConnectionClosed:
    case SdkErrorCode.SendFailed:
    case SdkErrorCode.ClientHttpAuthentication:
    case SdkErrorCode.ClientHttpForbidden:
      return EXIT.noConnection
    default:
      return EXIT.protocolError
  }
}
