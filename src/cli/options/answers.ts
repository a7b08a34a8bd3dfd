/** Who answers when a server asks for input: options of the command line first, then the person at the terminal. */
import type { InputRequest } from '@modelcontextprotocol/client'
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
} from '../../client/index.ts'
import { isElicitAction, isObject, type Json, parseJson } from '../../protocol/index.ts'
import { InputError } from '../exit.ts'
import { splitPair, typedArguments } from './arguments.ts'
import { collect } from './client.ts'
import { readInputFile, readJsonInput } from './input.ts'
import { decliningWithReason, failingWhenRefused } from './scriptedAnswers.ts'

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
  --suspend FILE   for whatever is left: the call is saved, and "pannier resume FILE" goes on with it`

export function withAnswerOptions(command: Command): Command {
  return command
    .optionsGroup('Answering:')
    .option('--answers <file>', 'answer questions from this JSON file, - for standard input')
    .option('--yes', 'accept forms with their default values')
    .option('--decline', 'say no to every question')
    .option('--folder <path>', 'tell the server of this folder when it asks for folders (repeatable)', collect)
    .option('--suspend <file>', 'save the call to this file when something is asked, and end')
    .option('--max-rounds <count>', 'fail when the call or its task still asks after so many rounds (default: 100)')
}

type GivenAnswers = Readonly<Record<string, Given>>

/** What is recorded about the answers that were sent. */
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

/** Answers by their keys. They may be secret, so no error contains any of them. */
async function readAnswers(file: string, signal: AbortSignal): Promise<GivenAnswers> {
  const answers = parseJson(await readInputFile(file, '--answers', signal))
  if (!isObject(answers)) throw new InputError('--answers: the file must hold a JSON object of answers by their keys.')
  return assertGiven(answers, '--answers')
}

function assertGiven(answers: Json, option: string): GivenAnswers {
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

/** For `task watch` without an answerer: the server may ask, and somebody else may answer. */
export function answeredElsewhere(): Answerers {
  return unanswered('It asks something. Run this in a terminal, give --answers, or use "pannier task answer".')
}

function unanswered(sentence: string): Answerers {
  const nobody: Answerer = () => {
    throw new ClientError('QUESTION_UNANSWERED', sentence)
  }
  return { form: nobody, url: nobody }
}

interface GivenFlags {
  readonly answer?: readonly string[]
  readonly json?: string
}

type OpenQuestions = Readonly<Record<string, InputRequest>>

const OPTION = '--answer'
const WORDING = { option: OPTION, asker: 'form', member: 'field' }

/** Answers to the open questions of a task: `--json` by key, and `--answer` field by field. */
export async function readGivenAnswers(
  { answer = [], json }: GivenFlags,
  questions: OpenQuestions,
  signal: AbortSignal,
): Promise<GivenAnswers> {
  return { ...(json !== undefined && (await readAnswersJson(json, signal))), ...answersFrom(answer, questions) }
}

/** Groups `--answer` pairs by question. */
export function answersFrom(pairs: readonly string[], questions: OpenQuestions): GivenAnswers {
  const fields = new Map<string, string[]>()
  const actions = new Map<string, Given>()
  for (const pair of pairs) {
    const [name, value] = splitPair(pair, OPTION)
    if (Object.hasOwn(questions, name) && isElicitAction(value)) {
      actions.set(name, value)
      continue
    }
    const [key, field] = questionAndField(name, Object.keys(questions))
    fields.set(key, [...(fields.get(key) ?? []), `${field}=${value}`])
  }
  const contents = [...fields].map(([key, of]) => [key, typedArguments(of, schemaOf(questions[key]), WORDING)] as const)
  return { ...Object.fromEntries(contents), ...Object.fromEntries(actions) }
}

/** `question.field`; the question may be left out where there is only one. Keys may contain dots, so the longest match counts. */
function questionAndField(name: string, keys: readonly string[]): readonly [key: string, field: string] {
  const named = keys.filter((key) => name.startsWith(`${key}.`)).toSorted((a, b) => b.length - a.length)
  const [key] = named
  if (key !== undefined) return [key, name.slice(key.length + 1)]
  const [only] = keys
  if (only !== undefined && keys.length === 1) return [only, name]
  const listed = keys.map((each) => plainLine(each, 60)).join(', ')
  const asks = keys.length === 0 ? 'The task asks nothing now.' : `The task asks ${listed}; write QUESTION.FIELD=VALUE.`
  throw new InputError(`${OPTION} ${name}: ${asks}`)
}

function schemaOf(request: InputRequest | undefined): Json {
  const params: unknown = request?.params
  const schema = isObject(params) ? params['requestedSchema'] : undefined
  return { ...(isObject(schema) ? schema : {}), additionalProperties: false }
}

async function readAnswersJson(json: string, signal: AbortSignal): Promise<GivenAnswers> {
  const answers = await readJsonInput(json, '--json', signal)
  if (!isObject(answers)) throw new InputError('--json takes a JSON object of answers by their keys.')
  return assertGiven(answers, '--json')
}
