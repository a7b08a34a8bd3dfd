/** What went wrong with a server, as a line for people and an exit code for scripts. */
import { ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import { type ClientCode, ClientError, plainText } from '../client/index.ts'
import { isObject } from '../protocol/index.ts'
import { StateError } from '../state/index.ts'
import { EXIT, type ExitCode } from './exitCodes.ts'
import { InputError } from './inputError.ts'

export interface Failure {
  readonly exitCode: ExitCode
  readonly text: string
}

/** Undefined for what is no failure of a call but a fault of this program. */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof InputError || error instanceof StateError)
    return { exitCode: EXIT.badInput, text: error.message }
  if (error instanceof ClientError) return { exitCode: exitCodeOf(error.code), text: plainText(error.message) }
  if (error instanceof ProtocolError) return protocolFailure(error)
  if (!(error instanceof SdkError)) return undefined
  return { exitCode: sdkExitCode(error.code), text: plainText(error.message) }
}

/** An error of JSON-RPC: the server's own, or one that a layer of ours gave in its place. */
function protocolFailure({ code, message, data }: ProtocolError): Failure {
  const ours = isObject(data) ? EXITS.get(data['code'] as ClientCode) : undefined
  if (ours !== undefined) return { exitCode: ours, text: plainText(ownMessage(message)) }
  const hint = code === CAPABILITY_MISSING ? `\n${UNASKED}` : ''
  return { exitCode: EXIT.protocolError, text: `The server answered with error ${code}: ${plainText(message)}${hint}` }
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
  ],
  noConnection: ['CONNECT_FAILED', 'AUTHORIZATION_FAILED', 'ROUND_UNSENT'],
  timedOut: ['REQUEST_TIMED_OUT'],
  protocolError: ['INPUT_INVALID', 'INPUT_UNDECLARED', 'ANSWER_FAILED', 'ROUNDS_ENDLESS', 'RESULT_UNKNOWN'],
}

const EXITS: ReadonlyMap<ClientCode, ExitCode> = new Map(
  Object.entries(CODES).flatMap(([exit, codes]) => codes.map((code) => [code, EXIT[exit as keyof typeof CODES]])),
)

function exitCodeOf(code: ClientCode): ExitCode {
  return EXITS.get(code) ?? EXIT.protocolError
}

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
