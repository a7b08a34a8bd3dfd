import { ProtocolError } from '@modelcontextprotocol/client'
import { Command } from 'commander'
import { clientCode } from '../../client/index.ts'
import { CODES } from '../../protocol/index.ts'
import { ANSWER_HELP, withAnswerOptions } from '../options/answers.ts'
import { type InteractiveFlags, runInteractive, withSaveOption } from './interactive.ts'
import { TARGET_HELP, withClientOptions } from '../options/client.ts'
import { readTargetOperands } from '../options/operands.ts'
import { runCommand, type CommandContext } from '../runCommand.ts'
import { EXIT_HELP, type ExitCode, failureOf } from '../exit.ts'
import { logMeta } from '../connection.ts'

/** `pannier read`: reads a resource. */
export function readCommand(server: readonly string[] | undefined): Command {
  const command = new Command('read')
    .description('Read a resource.')
    .usage('[options] TARGET URI\n       pannier read [options] URI -- COMMAND …')
    .argument('[operands...]')
    .action((operands: string[], flags: InteractiveFlags) =>
      runCommand((context) => {
        const { target, values } = readTargetOperands(operands, server, ['URI'])
        const params = { uri: values[0] ?? '', ...logMeta(flags) }
        const asked = runInteractive(target, flags, context, () => ({ method: 'resources/read', params }))
        return asked.catch((error: unknown) => withListHint(error, context))
      }),
    )
    .addHelpText('after', TARGET_HELP + ANSWER_HELP + EXIT_HELP)
  return withSaveOption(withAnswerOptions(withClientOptions(command)))
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
