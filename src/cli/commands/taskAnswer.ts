import type { Client, InputRequest } from '@modelcontextprotocol/client'
import { Command } from 'commander'
import {
  type Answerer,
  answerTask,
  byKind,
  ClientError,
  type Given,
  getTask,
  nameOf,
  plainLine,
  type Target,
  type Task,
} from '../../client/index.ts'
import { isElicitAction, isObject, type Json } from '../../protocol/index.ts'
import {
  answeredElsewhere,
  type AnswerNotes,
  assertGiven,
  chooseAnswerers,
  type GivenAnswers,
} from '../options/answers.ts'
import { splitPair, typedArguments } from '../options/arguments.ts'
import { readJsonInput } from '../options/input.ts'
import { answererHostOf } from './interactive.ts'
import { collect, type ClientFlags, TARGET_HELP, withClientOptions } from '../options/client.ts'
import { type CommandContext, runAtTarget } from '../runCommand.ts'
import { EXIT, EXIT_HELP, type ExitCode, InputError } from '../exit.ts'
import { withServer } from '../connection.ts'
import { serverReason } from '../output/tasks.ts'
import type { TargetOperands } from '../options/operands.ts'

interface TaskAnswerFlags extends ClientFlags {
  readonly answer?: readonly string[]
  readonly json?: string
  readonly yes?: boolean
  readonly decline?: boolean
}

/** `pannier task answer`: answers what a task asks, and leaves it working. */
export function taskAnswerCommand(server: readonly string[] | undefined): Command {
  const command = new Command('answer')
    .description('Answer what a task asks.')
    .option('--answer <field=value>', 'a field of the form, typed by its schema; see below (repeatable)', collect)
    .option('--json <object>', 'answers by their keys as JSON; @FILE reads a file, - standard input')
    .option('--yes', 'accept what is left with its default values')
    .option('--decline', 'say no to what is left')
    .addHelpText('after', ANSWERING_HELP + TARGET_HELP + EXIT_HELP)
  const at = { server, names: ['ID'], path: 'task answer' }
  return withClientOptions(runAtTarget(command, at, answerAtTarget))
}

async function answerAtTarget(
  { target, values: [taskId = ''] }: TargetOperands,
  flags: TaskAnswerFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const answer = (client: Client): Promise<readonly string[]> =>
    answerOpenQuestions(client, { target, taskId }, flags, context)
  const left = await withServer(target, flags, context, answer, answeredElsewhere())
  context.display.note(left.length === 0 ? 'Answered; the task continues.' : `Answered; still open: ${keysText(left)}.`)
  return EXIT.ok
}

const ANSWERING_HELP = `
With one open question:      --answer colour=red --answer size=3
With several:                --answer paint.colour=red --answer delivery=decline
As JSON, by their keys:      --json '{ "paint": { "colour": "red" }, "delivery": "decline" }'
With none of these you are asked at the terminal. Questions that get no answer stay open.
`

/** Sends the answers and gives the keys of the questions that stay open. */
async function answerOpenQuestions(
  client: Client,
  { target, taskId }: { readonly target: Target; readonly taskId: string },
  flags: TaskAnswerFlags,
  context: CommandContext,
): Promise<readonly string[]> {
  const { signal } = context
  const task = await getTask(client, taskId, { signal })
  const { inputRequests = {} } = task
  if (Object.keys(inputRequests).length === 0) throw nothingAsked(task)
  const given = await readGivenAnswers(flags, inputRequests, signal)
  const isGiven = Object.keys(given).length > 0
  const person = isGiven && !flags.yes && !flags.decline ? undefined : await fallbackFor(flags, context)
  const server = { name: client.getServerVersion()?.name, target: nameOf(target) }
  const rest = person && (await askRest(task, given, person, server, signal))
  const answers = { ...given, ...(rest && flags.yes ? accepted(rest) : rest) }
  const left = Object.keys(inputRequests).filter((key) => !Object.hasOwn(answers, key))
  if (Object.keys(answers).length === 0) throw noDefaults(left)
  await answerTask(client, taskId, answers, { signal })
  return left
}

/** With `--yes`, a form without all defaults gets no answer: declining it was not asked for. */
function accepted(answers: Readonly<Record<string, Given>>): Readonly<Record<string, Given>> {
  const isYes = ([, given]: [string, Given]): boolean => typeof given === 'object' && given['action'] === 'accept'
  return Object.fromEntries(Object.entries(answers).filter(isYes))
}

function noDefaults(keys: readonly string[]): InputError {
  return new InputError(`--yes cannot answer ${keysText(keys)}: not all that is needed has a default. Give --answer.`)
}

function keysText(keys: readonly string[]): string {
  return keys.map((key) => plainLine(key, 60)).join(', ')
}

/** Answers what --answer and --json do not: --yes, --decline, or the person at the terminal. */
async function fallbackFor({ yes, decline }: TaskAnswerFlags, context: CommandContext): Promise<Answerer> {
  const notes: AnswerNotes = { declined: false }
  const flags = { ...(yes && { yes }), ...(decline && { decline }) }
  // What --yes cannot answer stays open; the command lists it at its end.
  const host = { ...answererHostOf(context, notes, undefined), note: () => {} }
  const answerers = await chooseAnswerers(flags, host)
  return byKind(answerers)
}

async function askRest(
  { inputRequests = {} }: Task,
  given: Readonly<Record<string, Given>>,
  person: Answerer,
  server: { readonly name: string | undefined; readonly target: string | undefined },
  signal: AbortSignal,
): Promise<Readonly<Record<string, Given>>> {
  const open = Object.entries(inputRequests).filter(([key]) => !Object.hasOwn(given, key))
  const answered = open.map(async ([key, request]) => {
    const response = await person({ key, request, call: undefined, server, signal })
    return [key, response] as const
  })
  return Object.fromEntries(await Promise.all(answered))
}

/** The error for a task that has no question for this caller. Only the server knows who must answer the task. */
function nothingAsked(task: Task): ClientError {
  if (task.status !== 'input_required') return new ClientError('QUESTION_UNANSWERED', 'The task asks nothing now.')
  const reason = serverReason(task)
  const said = reason === undefined ? '' : ` The server says: "${reason}"`
  if (task.inputRequests !== undefined)
    return new ClientError('QUESTION_UNANSWERED', `The task asks you nothing.${said}`)
  const sentence = `This server asks the client that follows the task; answer it with "pannier task watch".${said}`
  return new ClientError('TASK_UNANSWERABLE', sentence)
}

type OpenQuestions = Readonly<Record<string, InputRequest>>

const OPTION = '--answer'
const WORDING = { option: OPTION, asker: 'form', member: 'field' }

/** Answers to the open questions of a task: `--json` by key, and `--answer` field by field. */
export async function readGivenAnswers(
  { answer = [], json }: Pick<TaskAnswerFlags, 'answer' | 'json'>,
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
