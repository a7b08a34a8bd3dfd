/** The commands `call`, `prompt` and `read`, in which the server may ask for input. */
import { type Client, ProtocolError, type Tool } from '@modelcontextprotocol/client'
import { Command } from 'commander'
import { clientCode, plainLine, type Target } from '../../client/index.ts'
import { CODES, isObject, type Json } from '../../protocol/index.ts'
import { type CallOptions, logMeta } from '../connection.ts'
import { EXIT_HELP, type ExitCode, failureOf, InputError } from '../exit.ts'
import { ANSWER_HELP, withAnswerOptions } from '../options/answers.ts'
import { stringArguments, typedArguments, unnamedArguments } from '../options/arguments.ts'
import { collect, TARGET_HELP, withClientOptions } from '../options/client.ts'
import { readJsonInput } from '../options/input.ts'
import { type CommandContext, runAtTarget } from '../runCommand.ts'
import { findListed, type InteractiveFlags, runInteractive, sendCall, withSaveOption } from './interactive.ts'

interface CallFlags extends InteractiveFlags {
  readonly arg?: readonly string[]
  readonly json?: string
}

/** `pannier call`: calls a tool. */
export function callCommand(server: readonly string[] | undefined): Command {
  const command = new Command('call')
    .description('Call a tool.')
    .option('--arg <name=value>', "an argument, typed by the tool's schema (repeatable; lists, too)", collect)
    .option('--json <object>', 'all arguments as JSON; @FILE reads a file, - standard input')
    .option('--detach', 'print the id of the task that the call becomes, and end; see "pannier task"')
  return interactiveCommand(command, 'TOOL', server, callTool)
}

/** `pannier prompt`: gets a prompt. */
export function promptCommand(server: readonly string[] | undefined): Command {
  const command = new Command('prompt')
    .description('Get a prompt.')
    .option('--arg <name=value>', 'an argument of the prompt (repeatable)', collect)
  return interactiveCommand(command, 'NAME', server, getPrompt)
}

/** `pannier read`: reads a resource. */
export function readCommand(server: readonly string[] | undefined): Command {
  return interactiveCommand(new Command('read').description('Read a resource.'), 'URI', server, readResource)
}

type RunCall = (target: Target, name: string, flags: CallFlags, context: CommandContext) => Promise<ExitCode>

/** Adds the operands TARGET and `operand`, and the options of every command in which the server may ask. */
function interactiveCommand(
  command: Command,
  operand: string,
  server: readonly string[] | undefined,
  run: RunCall,
): Command {
  runAtTarget<CallFlags>(command, { server, names: [operand] }, ({ target, values: [name = ''] }, flags, context) =>
    run(target, name, flags, context),
  ).addHelpText('after', TARGET_HELP + ANSWER_HELP + EXIT_HELP)
  return withSaveOption(withAnswerOptions(withClientOptions(command)))
}

const callTool: RunCall = async (target, name, flags, context) => {
  const given = await readArguments(flags, context.signal)
  return runInteractive(target, flags, context, async (client, options) => {
    const tool = await findTool(client, name, options)
    for (const unknown of unnamedArguments(flags.arg ?? [], tool.inputSchema))
      context.display.note(unnamedText(unknown))
    const args = { ...given, ...typedArguments(flags.arg ?? [], tool.inputSchema) }
    return sendCall(client, { method: 'tools/call', params: { name, arguments: args, ...logMeta(flags) } }, options)
  })
}

/** From this list the SDK also learns which arguments it mirrors in headers. */
async function findTool(client: Client, name: string, options: CallOptions): Promise<Tool> {
  const { tools, _meta: meta } = await client.listTools(undefined, options)
  return findListed(name, { kind: 'tool', items: tools, meta })
}

function unnamedText(name: string): string {
  return `note: The tool names no argument "${plainLine(name, 60)}"; it is sent all the same.`
}

/** Reads the arguments as JSON. They may be secret, so no error contains them. */
async function readArguments({ json, answers }: CallFlags, signal: AbortSignal): Promise<Json> {
  if (json === undefined) return {}
  if (json === '-' && answers === '-') throw new InputError('Standard input can give --json or --answers, not both.')
  const value = await readJsonInput(json, '--json', signal)
  if (!isObject(value)) throw new InputError('--json takes a JSON object.')
  return value
}

const getPrompt: RunCall = async (target, name, flags, context) => {
  const params = { name, arguments: stringArguments(flags.arg ?? []), ...logMeta(flags) }
  return runInteractive(target, flags, context, async (client, options) => {
    const { prompts, _meta: meta } = await client.listPrompts(undefined, options)
    findListed(name, { kind: 'prompt', items: prompts, meta })
    return sendCall(client, { method: 'prompts/get', params }, options)
  })
}

const readResource: RunCall = async (target, uri, flags, context) => {
  const params = { uri, ...logMeta(flags) }
  const asked = runInteractive(target, flags, context, (client, options) =>
    sendCall(client, { method: 'resources/read', params }, options),
  )
  return asked.catch((error: unknown) => withListHint(error, context))
}

/** Adds a hint where the server may not know the URI. The list cannot tell beforehand, because templates match any number. */
function withListHint(error: unknown, { display, signal }: CommandContext): ExitCode {
  const failure = failureOf(error)
  if (failure === undefined || signal.aborted || !mayBeUnknown(error)) throw error
  display.note(`error: ${failure.text}\nSee what there is with: pannier resources TARGET`)
  return failure.exitCode
}

// The code of revision 2026-07-28, and the one of the revisions before it.
const UNKNOWN: ReadonlySet<number> = new Set([CODES.INVALID_PARAMS, CODES.RESOURCE_NOT_FOUND])

function mayBeUnknown(error: unknown): boolean {
  return error instanceof ProtocolError && UNKNOWN.has(error.code) && clientCode(error) === undefined
}
