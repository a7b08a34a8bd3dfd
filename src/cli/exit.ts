import { ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import { type ClientCode, clientCode, ClientError, failureReason, plainLine } from '../client/index.ts'
import { ProbeError } from '../probe/index.ts'
import { StateError } from '../state/internal.ts'
import { serverWords } from './output/layout.ts'

/** How the program ends. Scripts rely on these numbers, so none of them ever changes its meaning. */
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

/** What the user gave cannot be used. The message says what to give instead. */
export class InputError extends Error {
  override readonly name = 'InputError'
}

/** What went wrong with a server, as a line for people and an exit code for scripts. */

export interface Failure {
  readonly exitCode: ExitCode
  readonly text: string
}

/** Undefined for what is no failure of a call but a fault of this program. */
export function failureOf(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) return undefined
  const exitCode = exitCodeOf(error)
  if (exitCode !== undefined) return { exitCode, text: textOf(error) + taskHint(error) }
  return error instanceof ProtocolError ? serverFailure(error) : undefined
}

/** Where a server answers with a page, its status says more. */
function textOf(error: Error): string {
  const { status } = failureReason(error)
  const isPage = status !== undefined && !(error instanceof ClientError)
  return isPage ? `The server answered HTTP ${status}.` : serverWords(withCause(error))
}

/** A task that was followed stays on the server, and nothing else has told its id. */
function taskHint(error: Error): string {
  const data: unknown = 'data' in error ? error.data : undefined
  const id: unknown = typeof data === 'object' && data !== null && 'taskId' in data ? data.taskId : undefined
  const code = clientCode(error)
  if (typeof id !== 'string' || code === 'TASK_CANCELLED' || code === 'TASK_EXPIRED') return ''
  return `\nIts task stays on the server. Follow it with: pannier task watch TARGET ${plainLine(id)}`
}

/** Errors point programmers to their cause; people get it right away, where it is known. */
function withCause(error: Error): string {
  const message = ownMessage(error.message)
  if (!POINTER.test(message)) return message
  const data: unknown = 'data' in error ? error.data : undefined
  const cause: unknown = typeof data === 'object' && data !== null && 'cause' in data ? data.cause : undefined
  const { why, status } = failureReason(cause)
  const reason =
    cause instanceof ClientError ? cause.message : (why ?? (status && `the server answered HTTP ${status}.`))
  return message.replace(POINTER, reason ? ` Reason: ${reason}` : '')
}

const POINTER = / The reason is in error\.data\.cause\.$/

function exitCodeOf(error: Error): ExitCode | undefined {
  const code = clientCode(error)
  if (code !== undefined) return EXITS.get(code) ?? EXIT.protocolError
  if (error instanceof InputError || error instanceof StateError || error instanceof ProbeError) return EXIT.badInput
  if (error instanceof SdkError) return sdkExitCode(error.code)
  // The SDK has no class for this one.
  return error.message === 'Not connected' ? EXIT.noConnection : undefined
}

/** An error of JSON-RPC that is the server's own. */
function serverFailure({ code, message }: ProtocolError): Failure {
  const hint = code === CAPABILITY_MISSING ? `\n${UNASKED}` : ''
  return {
    exitCode: EXIT.protocolError,
    text: `The server answered with error ${code}: ${serverWords(message)}${hint}`,
  }
}

const CAPABILITY_MISSING = -32021
const UNASKED = 'It wants to ask something. Run this in a terminal, or give --answers, --yes, --decline or --suspend.'

/** The SDK puts the number before some messages. */
function ownMessage(message: string): string {
  return message.replace(/^MCP error -?\d+: /, '')
}

const CODES: Readonly<Record<'badInput' | 'noConnection' | 'timedOut' | 'protocolError', readonly ClientCode[]>> = {
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
  protocolError: [
    'INPUT_INVALID',
    'INPUT_UNDECLARED',
    'INPUT_TOO_LARGE',
    'ANSWER_FAILED',
    'ROUNDS_ENDLESS',
    'RESULT_UNKNOWN',
    'MESSAGE_UNREADABLE',
    'TASK_INVALID',
    'TASK_CANCELLED',
    'TASK_EXPIRED',
    'TASKS_MISSING',
  ],
}

const EXITS: ReadonlyMap<ClientCode, ExitCode> = new Map(
  Object.entries(CODES).flatMap(([exit, codes]) => codes.map((code) => [code, EXIT[exit as keyof typeof CODES]])),
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
