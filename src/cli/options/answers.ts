/** Who answers when a server asks for input: options of the command line first, then the person at the terminal. */
import type { Command } from 'commander'
import {
  type Answerer,
  type Answerers,
  ClientError,
  defaults,
  fixed,
  folders,
  type Given,
  plainLine,
  refuse,
  type SavedStore,
  suspend,
  terminal,
  type Asked,
} from '../../client/index.ts'
import { isElicitAction, isObject, type Json, parseJson, NOT_ACCEPTED } from '../../protocol/index.ts'
import { InputError } from '../exit.ts'
import { collect } from './client.ts'
import { readInputFile } from './input.ts'
import { fieldsWithoutDefault } from '../../client/internal.ts'

export interface AnswerFlags {
  readonly answers?: string
  readonly yes?: boolean
  readonly decline?: boolean
  readonly folder?: readonly string[]
  readonly suspend?: string
}

export const ANSWER_HELP = `

When the server asks something, you are asked at the terminal. For scripts, in this order:
  --answers FILE   answers by their keys: { "confirm": { "sure": true }, "address": "decline" };
                   "*" answers the rest, and servers of the session era, whose questions have no keys
  --yes, --decline for whatever is left; without --suspend, --yes declines what has no default values
  --suspend FILE   for all other questions: the call is saved, and "pannier resume FILE" continues it`

export function withAnswerOptions(command: Command): Command {
  return command
    .optionsGroup('Answering:')
    .option('--answers <file>', 'answer questions from this JSON file, - for standard input')
    .option('--yes', 'accept forms with their default values')
    .option('--decline', 'say no to every question')
    .option('--folder <path>', 'tell the server of this folder when it asks for folders (repeatable)', collect)
    .option('--suspend <file>', 'save the call to this file when something is asked, and end')
    .option('--max-rounds <count>', 'fail when the call or its task still asks after this many rounds (default: 100)')
}

export type GivenAnswers = Readonly<Record<string, Given>>

/** The record of the answers that were sent. */
export interface AnswerNotes {
  /** A question was declined or cancelled. */
  declined: boolean
}

export interface AnswererHost {
  /** Called before a question is drawn; holds other output until the function it returns is called. */
  readonly hold: () => () => void
  readonly notes: AnswerNotes
  /** Shows a line to the user. */
  readonly note: (text: string) => void
  /** Where a suspended call is saved. */
  readonly saving: SavedStore | undefined
  readonly isTerminal: boolean
  readonly signal: AbortSignal
  /** Called for Ctrl-C in a form. */
  readonly interrupt: () => void
}

/** The answerers that the options name. Kinds without one are left out, so that their capability is not declared. */
export async function chooseAnswerers(flags: AnswerFlags, host: AnswererHost): Promise<Answerers> {
  if (flags.yes && flags.decline) throw new InputError('Give --yes or --decline, not both.')
  const known = flags.answers === undefined ? undefined : await readAnswers(flags.answers, host.signal)
  const fallback = fallbackAnswerer(flags, host)
  const form = known === undefined ? fallback : answersByKey(known, fallback, host)
  const noted = form && recordingDeclines(form, host.notes)
  const roots = flags.folder === undefined ? undefined : folders(flags.folder)
  return {
    ...(noted && { form: noted, url: noted }),
    ...((known || flags.suspend !== undefined) && noted && { sampling: noted }),
    ...(roots && { roots }),
  }
}

/** Answers by key, then by "*", then by the fallback. */
function answersByKey(known: GivenAnswers, fallback: Answerer | undefined, { note }: AnswererHost): Answerer {
  const { '*': any, ...keyed } = known
  const given = failingWhenRefused(fixed(keyed), note)
  const forAny = failingWhenRefused((asked) => fixed({ [asked.key]: any ?? {} })(asked), note)
  const rest = any === undefined ? fallback : forAny
  return (asked) => (rest === undefined || Object.hasOwn(keyed, asked.key) ? given(asked) : rest(asked))
}

function fallbackAnswerer({ yes, decline, suspend: file }: AnswerFlags, host: AnswererHost): Answerer | undefined {
  const suspending = file === undefined ? undefined : suspend(host.saving && { store: host.saving })
  const { note } = host
  if (yes) return failingWhenRefused(defaults({ otherwise: suspending ?? decliningWithReason(note) }), note)
  if (decline) return refuse()
  if (suspending !== undefined) return suspending
  return host.isTerminal ? terminal({ hold: host.hold, onInterrupt: host.interrupt }) : undefined
}

function recordingDeclines(answerer: Answerer, notes: AnswerNotes): Answerer {
  return async (asked) => {
    const response = await answerer(asked)
    if (response['action'] === 'decline' || response['action'] === 'cancel') notes.declined = true
    return response
  }
}

/** Answers by their keys. Answers may be secret, so no error contains one. */
async function readAnswers(file: string, signal: AbortSignal): Promise<GivenAnswers> {
  const answers = parseJson(await readInputFile(file, '--answers', signal))
  if (!isObject(answers)) throw new InputError('--answers: the file must hold a JSON object of answers by their keys.')
  return assertGiven(answers, '--answers')
}

export function assertGiven(answers: Json, option: string): GivenAnswers {
  const invalid = Object.keys(answers).find((key) => !isGiven(answers[key]))
  if (invalid === undefined) return answers as GivenAnswers
  const name = plainLine(invalid, 60)
  throw new InputError(`${option}: the answer "${name}" must be an object, "accept", "decline" or "cancel".`)
}

function isGiven(answer: unknown): answer is Given {
  return isObject(answer) || isElicitAction(answer)
}

/** For `--detach`: the server may ask, but only once the call is a task, and `pannier task` answers it then. */
export function answeredLater(): Answerers {
  return unanswered('The server asks before the call is a task. Run this in a terminal, or give --answers or --yes.')
}

/** For `task watch` without an answerer: the server may ask, and another client may answer. */
export function answeredElsewhere(): Answerers {
  return unanswered('It asks something. Run this in a terminal, give --answers, or use "pannier task answer".')
}

function unanswered(sentence: string): Answerers {
  const nobody: Answerer = () => {
    throw new ClientError('QUESTION_UNANSWERED', sentence)
  }
  return { form: nobody, url: nobody }
}

type Note = (text: string) => void

/**
 * Fails if the server asks again after it refused the answer: it would get the same answer each time. A question that
 * is asked again for another reason is answered again, and shown.
 */
function failingWhenRefused(answerer: Answerer, note: Note): Answerer {
  const answered = new Map<string, string>()
  return (asked) => {
    const { text, refusal } = messageOf(asked)
    const id = asked.isPushed ? text : asked.key
    const before = answered.get(id)
    if (before !== undefined && refusal !== undefined) throw notAccepted(asked, refusal)
    if (before !== undefined && before !== text) note(`note: ${nameOf(asked)} is asked again: ${plainLine(text, 500)}`)
    answered.set(id, text)
    return answerer(asked)
  }
}

function messageOf({ request }: Asked): { readonly text: string; readonly refusal: string | undefined } {
  const message = request.method === 'elicitation/create' ? request.params.message : ''
  const [text = '', refusal] = message.split(`\n\n${NOT_ACCEPTED} `)
  return { text, refusal }
}

function notAccepted(asked: Asked, refusal: string): ClientError {
  const sentence = `The server did not accept the answer to ${nameOf(asked)}: ${plainLine(refusal, 500)}`
  return new ClientError('RESPONSE_INVALID', sentence)
}

/** Declines what --yes cannot answer, and says why. */
function decliningWithReason(note: Note): Answerer {
  const decline = refuse()
  return (asked) => {
    if (asked.request.method === 'elicitation/create')
      note(`note: --yes declines ${nameOf(asked)}: ${reasonOf(asked)} Give an answer with --answers.`)
    return decline(asked)
  }
}

function reasonOf({ request }: Asked): string {
  const fields = fieldsWithoutDefault(request).map((name) => plainLine(name, 60))
  if (fields.length === 0) return 'it is a page that a person has to visit.'
  return `${fields.join(', ')} ${fields.length === 1 ? 'has no default value' : 'have no default values'}.`
}

/** Questions of the session era have no keys. */
function nameOf({ key, isPushed }: Asked): string {
  return isPushed ? 'a question' : `the question "${plainLine(key, 60)}"`
}
