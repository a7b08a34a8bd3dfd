/** Commands during which the server may ask for input: tools/call, prompts/get and resources/read, from the answerers to the exit code. */
import type { CallToolResult, Client, GetPromptResult, ReadResourceResult } from '@modelcontextprotocol/client'
import type { Command } from 'commander'
import {
  type Answerers,
  type AskingMethod,
  plainLine,
  type SavedCall,
  savedFile,
  suspendedOf,
  type Target,
  type Task,
  taskOf,
} from '../../client/index.ts'
import { ABSENT_META_KEY, isObject, type Json, nearestName } from '../../protocol/index.ts'
import { type CallOptions, withServer } from '../connection.ts'
import { AbsentServerError, EXIT, type ExitCode, failureOf, InputError, NO_ANSWERER_HINT } from '../exit.ts'
import {
  type AnswererHost,
  type AnswerFlags,
  type AnswerNotes,
  answeredLater,
  chooseAnswerers,
} from '../options/answers.ts'
import type { ClientFlags } from '../options/client.ts'
import { printableJson, resultAs } from '../output/json.ts'
import { describeMedium, saveMedium, promptText, resourceText, toolText } from '../output/results.ts'
import { questionLines } from '../output/tasks.ts'
import type { CommandContext } from '../runCommand.ts'

interface InteractiveCall {
  readonly method: AskingMethod
  readonly params: Json
}

export interface InteractiveFlags extends ClientFlags, AnswerFlags {
  readonly save?: string
  /** Ends when the call becomes a task, and prints its id. */
  readonly detach?: boolean
}

export function withSaveOption(command: Command): Command {
  return command.optionsGroup('Showing:').option('--save <folder>', 'save images, sounds and blobs into this folder')
}

/** A request, and what the server answered. */
interface InteractiveResult {
  readonly call: InteractiveCall
  readonly result: unknown
}

/** Connects, sends a request by `send`, and shows its outcome. `unanswered` is for questions that the options do not answer. */
export async function runInteractive(
  target: Target,
  flags: InteractiveFlags,
  context: CommandContext,
  send: (client: Client, options: CallOptions) => Promise<InteractiveResult>,
  unanswered: Answerers = flags.detach ? answeredLater() : {},
): Promise<ExitCode> {
  const notes: AnswerNotes = { declined: false }
  const file = flags.suspend === undefined ? undefined : savedFile(flags.suspend)
  await file?.assertUsable()
  const answerers = { ...unanswered, ...(await chooseAnswerers(flags, answererHostOf(context, notes, file))) }
  const tasks = flags.detach ? { handle: true, optional: true } : {}
  return withDeclinedExit(context, notes, async () => {
    const answered = await withServer(target, flags, context, send, answerers, tasks)
    const task = flags.detach ? taskOf(answered.result) : undefined
    if (task !== undefined) return showDetached(task, context, flags.output)
    return showOutcome(answered, { flags, context, notes, file: flags.suspend })
  })
}

export function answererHostOf(
  context: CommandContext,
  notes: AnswerNotes,
  saving: AnswererHost['saving'],
): AnswererHost {
  const isTerminal = Boolean(process.stdin.isTTY && process.stderr.isTTY)
  const { display, signal, interrupt } = context
  return { hold: display.hold, note: display.note, notes, saving, isTerminal, signal, interrupt }
}

/** Gives the exit code `declined` where a call fails after a question was declined. */
export async function withDeclinedExit(
  { display, signal }: CommandContext,
  notes: AnswerNotes,
  run: () => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await run()
  } catch (error) {
    const failure = failureOf(error)
    if (!notes.declined || failure === undefined || signal.aborted) throw error
    display.note(`error: ${failure.text}`)
    return EXIT.declined
  }
}

export async function sendCall(
  client: Client,
  call: InteractiveCall,
  options: CallOptions,
): Promise<InteractiveResult> {
  return { call, result: await resultOf(client, call, options) }
}

function resultOf(client: Client, { method, params }: InteractiveCall, options: CallOptions): Promise<unknown> {
  switch (method) {
    case 'tools/call':
      return client.callTool(params as never, options)
    case 'prompts/get':
      return client.getPrompt(params as never, options)
    case 'resources/read':
      return client.readResource(params as never, { ...options, cacheMode: 'bypass' })
    default:
      return method satisfies never
  }
}

interface OutcomeOptions {
  readonly flags: Pick<InteractiveFlags, 'output' | 'save'>
  readonly context: CommandContext
  readonly notes: AnswerNotes
  /** The file that a suspended call was saved to. */
  readonly file: string | undefined
}

/** Shows a result and gives the exit code. The text of a failed tool is no result, so it goes to stderr. */
export async function showOutcome({ call, result }: InteractiveResult, options: OutcomeOptions): Promise<ExitCode> {
  const { flags, context, notes } = options
  const { display } = context
  const { output, save } = flags
  const suspended = suspendedOf(result)
  if (suspended !== undefined) return showSuspended(suspended.saved, options)
  const isError = call.method === 'tools/call' && isObject(result) && result['isError'] === true
  if (output === 'json') display.print(printableJson(result))
  else {
    const text = await resultText(call, result, save === undefined ? describeMedium : saveMedium(save))
    if (isError) display.note(needsAnswerer(text) ? `${text}\n${NO_ANSWERER_HINT}` : text)
    else if (text !== '') display.print(text)
  }
  return isError ? (notes.declined ? EXIT.declined : EXIT.toolError) : EXIT.ok
}

/** Whether a tool failed because this client does not declare what it asks, in the words of a gateway or an SDK. */
function needsAnswerer(text: string): boolean {
  return /Nobody can be asked: this needs a client that declares|Client does not support .*(?:elicitation|sampling|roots)/.test(
    text,
  )
}

function resultText(
  { method, params }: InteractiveCall,
  result: unknown,
  place: typeof describeMedium,
): Promise<string> {
  const name = typeof params['name'] === 'string' ? params['name'] : 'content'
  switch (method) {
    case 'tools/call':
      return toolText(name, result as CallToolResult, place)
    case 'prompts/get':
      return promptText(name, result as GetPromptResult, place)
    case 'resources/read':
      return resourceText(result as ReadResourceResult, place)
    default:
      return method satisfies never
  }
}

function showSuspended({ inputRequests }: SavedCall, { flags, context: { display }, file }: OutcomeOptions): ExitCode {
  if (flags.output === 'json') display.print(printableJson({ suspended: { file, inputRequests } }))
  const count = Object.keys(inputRequests).length
  const wait = count === 1 ? '1 question waits' : `${count} questions wait`
  display.note(
    [`Suspended; ${wait}:`, ...questionLines(inputRequests), `Continue with: pannier resume ${file ?? 'FILE'}`].join(
      '\n',
    ),
  )
  return EXIT.suspended
}

/** Prints the id of the task. Where a server does not authenticate its callers, the id alone gives access to the task. */
function showDetached(task: Task, { display }: CommandContext, output: 'text' | 'json'): ExitCode {
  const id = plainLine(task.taskId, Infinity)
  display.print(resultAs(output === 'json', { task }, () => id))
  if (output === 'text' && id !== task.taskId) display.note(UNPLAIN_ID)
  display.note('The call continues as a task. Follow it with: pannier task watch TARGET ID')
  return EXIT.ok
}

const UNPLAIN_ID = 'note: The id has characters that are not shown as they are; --output json has it exactly.'

interface NamedList<Item> {
  readonly kind: string
  readonly items: readonly Item[]
  /** The `_meta` of the list. */
  readonly meta: unknown
}

/** The item with this name. Throws an error that lists the names or the nearest of them, or that says why a gateway has not reached the server. */
export function findListed<Item extends { readonly name: string }>(name: string, list: NamedList<Item>): Item {
  const { kind, items, meta } = list
  const item = items.find((one) => one.name === name)
  if (item !== undefined) return item
  const absent = absentServer(name, meta)
  if (absent !== undefined) throw new AbsentServerError(absent)
  const names = items.map((one) => one.name)
  throw new InputError(`The server has no ${kind} "${plainLine(name, 60)}"${namesAdvice(name, kind, names)}`)
}

/** A longer list hides the name that was meant. */
const MAX_NAMES = 20

function namesAdvice(name: string, kind: string, names: readonly string[]): string {
  if (names.length === 0) return '; it has none.'
  if (names.length <= MAX_NAMES) return `; it has ${names.map((each) => plainLine(each, 60)).join(', ')}.`
  const nearest = nearestName(name, names)
  const meant = nearest === undefined ? '.' : `; did you mean ${plainLine(nearest, 60)}?`
  return `${meant} "pannier ${kind}s" lists all ${names.length}.`
}

/** Why a gateway has not reached the server of a name. */
function absentServer(name: string, meta: unknown): string | undefined {
  const absent = isObject(meta) ? meta[ABSENT_META_KEY] : undefined
  if (!isObject(absent)) return undefined
  const [, sentence] = Object.entries(absent).find(([start]) => name.startsWith(start)) ?? []
  return typeof sentence === 'string' ? sentence : undefined
}
