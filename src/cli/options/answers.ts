/** Who answers when a server asks something: the person at the terminal, or what the command line says for them. */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Command } from 'commander'
import {
  type Answerer,
  type Answerers,
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
import { added } from './client.ts'
import { readInputFile, readJsonInput } from './input.ts'

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
                   "*" answers the rest, and servers of the older era, whose questions have no keys
  --yes, --decline for whatever is left; without --suspend, --yes declines what has no default values
  --suspend FILE   for whatever is left: the call is saved, and "pannier resume FILE" goes on with it`

export function withAnswerOptions(command: Command): Command {
  return command
    .optionsGroup('Answering:')
    .option('--answers <file>', 'answer questions from this JSON file, - for standard input')
    .option('--yes', 'accept forms with their default values')
    .option('--decline', 'say no to every question')
    .option('--folder <path>', 'tell the server of this folder when it asks for folders (repeatable)', added)
    .option('--suspend <file>', 'save the call to this file when something is asked, and end')
}

/** What the host notes about the answers that went out. */
export interface AnswerNotes {
  /** A question was declined or cancelled. */
  declined: boolean
}

export interface AnswererHost {
  /** Called before a question is drawn. */
  readonly hold: () => () => void
  readonly notes: AnswerNotes
  /** Where a call goes that waits. */
  readonly saving: SavedStore | undefined
  readonly isTerminal: boolean
  readonly signal: AbortSignal
  /** Ctrl-C in a form. */
  readonly interrupt: () => void
}

/** The answerers that the options name. A kind that nobody could answer is left out, so servers are not told of it. */
export async function chooseAnswerers(flags: AnswerFlags, host: AnswererHost): Promise<Answerers> {
  if (flags.yes && flags.decline) throw new InputError('Give --yes or --decline, not both.')
  const known = flags.answers === undefined ? undefined : await readAnswers(flags.answers, host.signal)
  const person = lastResort(flags, host)
  const form = known === undefined ? person : knownAnswers(known, person)
  const noted = form && noting(form, host.notes)
  const roots = flags.folder === undefined ? undefined : folders(flags.folder)
  return {
    ...(noted && { form: noted, url: noted }),
    ...((known || flags.suspend !== undefined) && noted && { sampling: noted }),
    ...(roots && { roots }),
  }
}

/** Answers by their keys, then by "*", then by whoever is there. */
function knownAnswers(known: Readonly<Record<string, Given>>, person: Answerer | undefined): Answerer {
  const { '*': any, ...keyed } = known
  const rest: Answerer | undefined = any === undefined ? person : (asked) => fixed({ [asked.key]: any })(asked)
  return fixed(keyed, rest && { otherwise: rest })
}

function lastResort({ yes, decline, suspend: file }: AnswerFlags, host: AnswererHost): Answerer | undefined {
  const sleep = file === undefined ? undefined : suspend(host.saving && { store: host.saving })
  if (yes) return defaults(sleep && { otherwise: sleep })
  if (decline) return refuse()
  if (sleep !== undefined) return sleep
  return host.isTerminal ? terminal({ hold: host.hold, onInterrupt: host.interrupt }) : undefined
}

function noting(answerer: Answerer, notes: AnswerNotes): Answerer {
  return async (asked) => {
    const response = await answerer(asked)
    if (response['action'] === 'decline' || response['action'] === 'cancel') notes.declined = true
    return response
  }
}

/** Answers by their keys. The file may hold what people would not say aloud, so no part of it is in an error. */
async function readAnswers(file: string, signal: AbortSignal): Promise<Readonly<Record<string, Given>>> {
  const answers = parseJson(await readInputFile(file, '--answers', signal))
  if (!isObject(answers)) throw new InputError('--answers: the file must hold a JSON object of answers by their keys.')
  const odd = Object.entries(answers).find(([, answer]) => !isGiven(answer))
  if (odd === undefined) return answers as Readonly<Record<string, Given>>
  throw new InputError(`--answers: the answer "${odd[0]}" must be an object, "accept", "decline" or "cancel".`)
}

function isGiven(answer: unknown): answer is Given {
  return isObject(answer) || isElicitAction(answer)
}

/** Answers to the open questions of a task, as the command line gives them: field by field, or as JSON by key. */

interface GivenFlags {
  readonly answer?: readonly string[]
  readonly json?: string
}

type Questions = Readonly<Record<string, InputRequest>>

const OPTION = '--answer'
const WORDING = { option: OPTION, asker: 'form', member: 'field' }

export async function readGivenAnswers(
  { answer = [], json }: GivenFlags,
  questions: Questions,
  signal: AbortSignal,
): Promise<Readonly<Record<string, Given>>> {
  return { ...(json !== undefined && (await readAnswersJson(json, signal))), ...answersFrom(answer, questions) }
}

/** Pairs by the question they are for. */
export function answersFrom(pairs: readonly string[], questions: Questions): Readonly<Record<string, Given>> {
  const fields = new Map<string, string[]>()
  const actions = new Map<string, Given>()
  for (const pair of pairs) {
    const [name, value] = splitPair(pair, OPTION)
    if (Object.hasOwn(questions, name) && isElicitAction(value)) {
      actions.set(name, value)
      continue
    }
    const [key, field] = placeOf(name, Object.keys(questions))
    fields.set(key, [...(fields.get(key) ?? []), `${field}=${value}`])
  }
  const contents = [...fields].map(([key, of]) => [key, typedArguments(of, schemaOf(questions[key]), WORDING)] as const)
  return { ...Object.fromEntries(contents), ...Object.fromEntries(actions) }
}

/** `question.field`; with one question its name may be left out. The longest name counts: keys may hold dots. */
function placeOf(name: string, keys: readonly string[]): readonly [key: string, field: string] {
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

/** Answers may be secret, so nothing of them is in an error. */
async function readAnswersJson(json: string, signal: AbortSignal): Promise<Readonly<Record<string, Given>>> {
  const answers = await readJsonInput(json, '--json', signal)
  if (!isObject(answers)) throw new InputError('--json takes a JSON object of answers by their keys.')
  const odd = Object.keys(answers).find((key) => !isGiven(answers[key]))
  if (odd === undefined) return answers as Readonly<Record<string, Given>>
  throw new InputError(`--json: the answer "${plainLine(odd, 60)}" must be an object, "accept", "decline" or "cancel".`)
}
