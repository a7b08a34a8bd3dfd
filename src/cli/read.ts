import { Command } from 'commander'
import { ANSWER_HELP, withAnswerOptions } from './answerOptions.ts'
import { type AskingFlags, ask, withSaveOption } from './asking.ts'
import { TARGET_HELP, withClientOptions } from './clientOptions.ts'
import { readOperands } from './commandLine.ts'
import { atDesk } from './desk.ts'
import { EXIT_HELP } from './exitCodes.ts'
import { logMeta } from './serverLog.ts'

/** `pannier read`: reads a resource. */
export function readCommand(server: readonly string[] | undefined): Command {
  const command = new Command('read')
    .description('Read a resource.')
    .usage('[options] TARGET URI\n       pannier read [options] URI -- COMMAND …')
    .argument('[operands...]')
    .action((operands: string[], flags: AskingFlags) =>
      atDesk((desk) => {
        const { target, values } = readOperands(operands, server, ['URI'])
        const params = { uri: values[0] ?? '', ...logMeta(flags) }
        return ask(target, flags, desk, () => ({ method: 'resources/read', params }))
      }),
    )
    .addHelpText('after', TARGET_HELP + ANSWER_HELP + EXIT_HELP)
  return withSaveOption(withAnswerOptions(withClientOptions(command)))
}
