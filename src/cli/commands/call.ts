import type { Client, Tool } from '@modelcontextprotocol/client'
import { Command } from 'commander'
import { plainLine } from '../../client/index.ts'
import { isObject, type Json } from '../../protocol/index.ts'
import { ANSWER_HELP, withAnswerOptions } from '../options/answers.ts'
import { runInteractive, type InteractiveFlags, findListed, withSaveOption } from './interactive.ts'
import { collect, TARGET_HELP, withClientOptions } from '../options/client.ts'
import { readTargetOperands } from '../options/operands.ts'
import { runCommand } from '../runCommand.ts'
import { EXIT_HELP, InputError } from '../exit.ts'
import { readJsonInput } from '../options/input.ts'
import { type CallOptions, logMeta } from '../connection.ts'
import { typedArguments, unnamedArguments } from '../options/arguments.ts'

interface CallFlags extends InteractiveFlags {
  readonly arg?: readonly string[]
  readonly json?: string
}

/** `pannier call`: calls a tool. */
export function callCommand(server: readonly string[] | undefined): Command {
  const command = new Command('call')
    .description('Call a tool.')
    .usage('[options] TARGET TOOL\n       pannier call [options] TOOL -- COMMAND …')
    .argument('[operands...]')
    .option('--arg <name=value>', "an argument, typed by the tool's schema (repeatable; lists, too)", collect)
    .option('--json <object>', 'all arguments as JSON; @FILE reads a file, - standard input')
    .option('--detach', 'print the id of the task that the call becomes, and end; see "pannier task"')
    .action((operands: string[], flags: CallFlags) =>
      runCommand(async (context) => {
        const { target, values } = readTargetOperands(operands, server, ['TOOL'])
        const [name = ''] = values
        const given = await readArguments(flags, context.signal)
        return runInteractive(target, flags, context, async (client, options) => {
          const tool = await findTool(client, name, options)
          for (const unknown of unnamedArguments(flags.arg ?? [], tool.inputSchema))
            context.display.note(unnamedText(unknown))
          const args = { ...given, ...typedArguments(flags.arg ?? [], tool.inputSchema) }
          return { method: 'tools/call', params: { name, arguments: args, ...logMeta(flags) } }
        })
      }),
    )
    .addHelpText('after', TARGET_HELP + ANSWER_HELP + EXIT_HELP)
  return withSaveOption(withAnswerOptions(withClientOptions(command)))
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
