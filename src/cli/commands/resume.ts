import type { Client } from '@modelcontextprotocol/client'
import { Command } from 'commander'
import {
  type Answerers,
  byKind,
  ClientError,
  resume,
  type SavedCall,
  type SavedFile,
  savedFile,
  suspendedOf,
  type Target,
  targetOf,
} from '../../client/index.ts'
import { ANSWER_HELP, type AnswerNotes, chooseAnswerers, withAnswerOptions } from '../options/answers.ts'
import {
  type InteractiveFlags,
  answererHostOf,
  withDeclinedExit,
  sendCall,
  showOutcome,
  withSaveOption,
} from './interactive.ts'
import { withClientOptions } from '../options/client.ts'
import { typedCommand } from '../options/operands.ts'
import { runCommand, type CommandContext } from '../runCommand.ts'
import { EXIT_HELP, type ExitCode, InputError } from '../exit.ts'
import { type CallOptions, withServer } from '../connection.ts'

/** `pannier resume`: continues a suspended call, in another process and possibly days later. */
export function resumeCommand(server: readonly string[] | undefined): Command {
  const command = new Command('resume')
    .description('Continue a suspended call.')
    .usage('[options] FILE')
    .argument('<file>', 'where "--suspend FILE" saved the call')
    .action((path: string, flags: InteractiveFlags) => {
      if (server !== undefined) throw new InputError('The saved call knows its server; leave out the command after --.')
      return runCommand((context) => resumeCall(path, flags, context))
    })
    .addHelpText('after', RESUME_HELP + ANSWER_HELP + EXIT_HELP)
  return withSaveOption(withAnswerOptions(withClientOptions(command)))
}

const RESUME_HELP = `
The file is removed when the call is done, or suspended to another file. While a question is open the file stays, and the
call can be resumed again. Headers and tokens are not saved: give them again. A command is started again: a server made
with Pannier then needs the same PANNIER_KEYS as before.`

async function resumeCall(path: string, flags: InteractiveFlags, context: CommandContext): Promise<ExitCode> {
  const file = savedFile(path)
  const saved = await file.load()
  await file.assertUsable({ mayReplaceCall: true })
  const target = targetOfCall(saved)
  const next = savedFile(flags.suspend ?? path)
  await next.assertUsable({ mayReplaceCall: flags.suspend === undefined || flags.suspend === path })
  const notes: AnswerNotes = { declined: false }
  const host = answererHostOf(context, notes, next)
  // Questions without an answer stay open.
  const isOpenEnded = flags.yes || (!host.isTerminal && !flags.decline)
  const suspend = flags.suspend ?? (isOpenEnded ? path : undefined)
  const answerers = await chooseAnswerers(suspend === undefined ? flags : { ...flags, suspend }, host)
  return withDeclinedExit(context, notes, async () => {
    const through = { send: sender(target, flags, context, answerers) }
    const result = await resume(saved, byKind(answerers), through, { signal: context.signal })
    // The call is done, or saved to another file. Even if showing it fails, it must not be sent again.
    const isElsewhere = flags.suspend !== undefined && flags.suspend !== path
    if (isElsewhere || suspendedOf(result) === undefined) await removeOrNote(file, context)
    return showOutcome({ call: saved, result }, { flags, context, notes, file: flags.suspend ?? path })
  })
}

/** A file that cannot be removed is no reason to lose the result. */
async function removeOrNote(file: SavedFile, { display }: CommandContext): Promise<void> {
  try {
    await file.remove()
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    display.note(`note: ${error.message}`)
  }
}

function sender(target: Target, flags: InteractiveFlags, context: CommandContext, answerers: Answerers) {
  return async (method: SavedCall['method'], params: SavedCall['params']): Promise<unknown> => {
    const send = (client: Client, options: CallOptions) => sendCall(client, { method, params }, options)
    return (await withServer(target, flags, context, send, answerers)).result
  }
}

/** A saved command runs with the whole environment, as one from the command line does. */
function targetOfCall(saved: SavedCall): Target {
  return Array.isArray(saved.target) ? typedCommand(saved.target as string[], saved.cwd) : targetOf(saved)
}
