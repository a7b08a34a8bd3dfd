import { Command } from 'commander'
import { ANSWER_HELP, withAnswerOptions } from '../options/answers.ts'
import { runInteractive, type InteractiveFlags, findListed, withSaveOption } from './interactive.ts'
import { collect, TARGET_HELP, withClientOptions } from '../options/client.ts'
import { readTargetOperands } from '../options/operands.ts'
import { runCommand } from '../runCommand.ts'
import { EXIT_HELP } from '../exit.ts'
import { logMeta } from '../connection.ts'
import { stringArguments } from '../options/arguments.ts'

interface PromptFlags extends InteractiveFlags {
  readonly arg?: readonly string[]
}

/** `pannier prompt`: gets a prompt. */
export function promptCommand(server: readonly string[] | undefined): Command {
  const command = new Command('prompt')
    .description('Get a prompt.')
    .usage('[options] TARGET NAME\n       pannier prompt [options] NAME -- COMMAND …')
    .argument('[operands...]')
    .option('--arg <name=value>', 'an argument of the prompt (repeatable)', collect)
    .action((operands: string[], flags: PromptFlags) =>
      runCommand((context) => {
        const { target, values } = readTargetOperands(operands, server, ['NAME'])
        const [name = ''] = values
        const params = { name, arguments: stringArguments(flags.arg ?? []), ...logMeta(flags) }
        return runInteractive(target, flags, context, async (client, options) => {
          const { prompts, _meta: meta } = await client.listPrompts(undefined, options)
          findListed(name, { kind: 'prompt', items: prompts, meta })
          return { method: 'prompts/get', params }
        })
      }),
    )
    .addHelpText('after', TARGET_HELP + ANSWER_HELP + EXIT_HELP)
  return withSaveOption(withAnswerOptions(withClientOptions(command)))
}
