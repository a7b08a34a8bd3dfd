/** The part of a call that an approver sees, and who may approve it. */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Approvers } from '../../journal/index.ts'
import type { Json } from '../../protocol/index.ts'
import type { ApprovalTerms } from '../rules/index.ts'

export interface ApprovalQuestion {
  readonly request: InputRequest
  readonly approvers: Approvers
  /** How long it stands, and how long an approval counts from then on. */
  readonly seconds: number
}

/** The subject of an approval. */
export interface ApprovableCall {
  readonly server: string
  /** The tool's name at its server. */
  readonly tool: string
  readonly args: Json
  /** The subject of the caller; undefined for an anonymous one. */
  readonly caller: string | undefined
}

const SCHEMA = {
  type: 'object',
  properties: { approve: { type: 'boolean', title: 'Approve this call' } },
  required: ['approve'],
} as const

const DEFAULT_FOR = '1h'
/** A person reads no more than this. Arguments that are not shown in full cannot be approved. */
const MAX_SHOWN_CHARS = 4000

/** The question of an approval; a sentence if the arguments cannot be shown to the approver. */
export function approvalQuestion(call: ApprovableCall, terms: ApprovalTerms): ApprovalQuestion | string {
  const { by, fourEyes = false, for: time = DEFAULT_FOR, show } = terms
  const members = show === undefined ? call.args : membersOf(call.args, show)
  const written = JSON.stringify(members)
  // Escapes only make it longer, and take long for a long text.
  const shown = written.length > MAX_SHOWN_CHARS ? written : escapedText(written)
  if (shown.length > MAX_SHOWN_CHARS)
    return `This call needs an approval, and its arguments are too long to be shown to a person: ${shown.length} characters, at most ${MAX_SHOWN_CHARS}. Call with less, or let the operator of the gateway name the arguments that matter ("show").`
  const hidden = Object.keys(call.args).length - Object.keys(members).length
  const lines = [
    `Approve a call of the tool ${plainText(call.tool)} of the server ${plainText(call.server)}?`,
    `Caller: ${call.caller === undefined ? 'unknown' : plainText(call.caller)}`,
    `Arguments: ${shown}`,
    ...(hidden > 0 ? [`Arguments that are not shown: ${hidden}`] : []),
  ]
  return {
    request: { method: 'elicitation/create', params: { message: lines.join('\n'), requestedSchema: SCHEMA } } as never,
    approvers: { by: typeof by === 'string' ? [by] : by, fourEyes },
    seconds: secondsOf(time),
  }
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** The seconds of a time such as `15m`, whose form was checked with the settings. */
function secondsOf(time: string): number {
  return Number(time.slice(0, -1)) * (UNIT_SECONDS[time.slice(-1)] ?? 1)
}

function membersOf(args: Json, names: readonly string[]): Json {
  return Object.fromEntries(names.filter((name) => Object.hasOwn(args, name)).map((name) => [name, args[name]]))
}

/** Characters that are invisible or change the look of the text around them. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu

/** JSON in which no character can imitate another line of the message. */
function plainText(value: unknown): string {
  return escapedText(JSON.stringify(value))
}

function escapedText(text: string): string {
  const escaped = (character: string): string =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join('')
  return text.replace(UNSEEN, escaped)
}
