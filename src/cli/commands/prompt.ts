import { Command } from 'commander'
import { ANSWER_HELP, withAnswerOptions } from '../options/answers.ts'
import { ask, type AskingFlags, named, withSaveOption } from './interactive.ts'
import { added, TARGET_HELP, withClientOptions } from '../options/client.ts'
import { readOperands } from '../options/operands.ts'
import { atDesk } from '../run.ts'
import { EXIT_HELP } from '../exit.ts'
import { logMeta } from '../connection.ts'
import { stringArguments } from '../options/arguments.ts'

interface PromptFlags extends AskingFlags {
  readonly arg?: readonly string[]
}

/** `pannier prompt`: gets a prompt. */
export function promptCommand(server: readonly string[] | undefined): Command {
  const command = new Command('prompt')
    .description('Get a prompt.')
    .usage('[options] TARGET NAME\n       pannier prompt [options] NAME -- COMMAND …')
    .argument('[operands...]')
    .option('--arg <name=value>', 'an argument of the prompt (repeatable)', added)
    .action((operands: string[], flags: PromptFlags) =>
      atDesk((desk) => {
        const { target, values } = readOperands(operands, server, ['NAME'])
        const [name = ''] = values
        const params = { name, arguments: stringArguments(flags.arg ?? []), ...logMeta(flags) }
        return ask(target, flags, desk, async (client, options) => {
          const { prompts } = await client.listPrompts(undefined, options)
          named('prompt', name, prompts)
          return { method: 'prompts/get', params }
        })
      }),
    )
    .addHelpText('after', TARGET_HELP + ANSWER_HELP + EXIT_HELP)
  return withSaveOption(withAnswerOptions(withClientOptions(command)))
}
