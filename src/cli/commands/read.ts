import { ProtocolError } from '@modelcontextprotocol/client'
import { Command } from 'commander'
import { clientCode } from '../../client/index.ts'
import { ANSWER_HELP, withAnswerOptions } from '../options/answers.ts'
import { type AskingFlags, ask, withSaveOption } from './interactive.ts'
import { TARGET_HELP, withClientOptions } from '../options/client.ts'
import { readOperands } from '../options/operands.ts'
import { atDesk, type Desk } from '../run.ts'
import { EXIT_HELP, type ExitCode, failureOf } from '../exit.ts'
import { logMeta } from '../connection.ts'

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
        const asked = ask(target, flags, desk, () => ({ method: 'resources/read', params }))
        return asked.catch((error: unknown) => sayWhatThereIs(error, desk))
      }),
    )
    .addHelpText('after', TARGET_HELP + ANSWER_HELP + EXIT_HELP)
  return withSaveOption(withAnswerOptions(withClientOptions(command)))
}

/** A list cannot tell whether there is such a resource, because templates have no end; so the server has been asked. */
function sayWhatThereIs(error: unknown, { display, signal }: Desk): ExitCode {
  const failure = failureOf(error)
  if (failure === undefined || signal.aborted || !mayBeUnknown(error)) throw error
  display.note(`error: ${failure.text}\nSee what there is with: pannier resources TARGET`)
  return failure.exitCode
}

// The first is that of revision 2026-07-28, the second that of the ones before it.
const UNKNOWN: ReadonlySet<number> = new Set([-32602, -32002])

function mayBeUnknown(error: unknown): boolean {
  return error instanceof ProtocolError && UNKNOWN.has(error.code) && clientCode(error) === undefined
}
