import type { Client } from '@modelcontextprotocol/client'
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
  type Task,
} from '../../client/index.ts'
import { answeredElsewhere, type AnswerNotes, chooseAnswerers, readGivenAnswers } from '../options/answers.ts'
import { answererHostOf } from './interactive.ts'
import { collect, type ClientFlags, TARGET_HELP, withClientOptions } from '../options/client.ts'
import { runCommand, type CommandContext } from '../runCommand.ts'
import { EXIT, EXIT_HELP, InputError } from '../exit.ts'
import { withServer } from '../connection.ts'
import { serverReason } from '../output/tasks.ts'
import { readTaskOperands, type TaskOperands, taskUsage } from '../options/operands.ts'

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
    .usage(taskUsage('answer'))
    .argument('[operands...]')
    .option('--answer <field=value>', 'a field of the form, typed by its schema; see below (repeatable)', collect)
    .option('--json <object>', 'answers by their keys as JSON; @FILE reads a file, - standard input')
    .option('--yes', 'accept what is left with its default values')
    .option('--decline', 'say no to what is left')
    .action((operands: string[], flags: TaskAnswerFlags) =>
      runCommand(async (context) => {
        const place = readTaskOperands(operands, server)
        const answer = (client: Client): Promise<readonly string[]> =>
          answerOpenQuestions(client, place, flags, context)
        const left = await withServer(place.target, flags, context, answer, answeredElsewhere())
        context.display.note(
          left.length === 0 ? 'Answered; the task goes on.' : `Answered; still open: ${keysText(left)}.`,
        )
        return EXIT.ok
      }),
    )
    .addHelpText('after', ANSWERING_HELP + TARGET_HELP + EXIT_HELP)
  return withClientOptions(command)
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
  { target, taskId }: TaskOperands,
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
  // What --yes cannot answer stays open here, which is told in the end.
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

/** The error for a task that has no question for this caller. It may wait for somebody else, as only the server can say. */
function nothingAsked(task: Task): ClientError {
  if (task.status !== 'input_required') return new ClientError('QUESTION_UNANSWERED', 'The task asks nothing now.')
  const reason = serverReason(task)
  const said = reason === undefined ? '' : ` The server says: "${reason}"`
  if (task.inputRequests !== undefined)
    return new ClientError('QUESTION_UNANSWERED', `The task asks you nothing.${said}`)
  const sentence = `This server asks whoever follows the task; answer it with "pannier task watch".${said}`
  return new ClientError('TASK_UNANSWERABLE', sentence)
}
