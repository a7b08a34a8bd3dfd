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
import { type AskingFlags, hostOf, refusalCounts, sendCall, showOutcome, withSaveOption } from './interactive.ts'
import { withClientOptions } from '../options/client.ts'
import { typedCommand } from '../options/operands.ts'
import { atDesk, type Desk } from '../run.ts'
import { EXIT_HELP, type ExitCode, InputError } from '../exit.ts'
import { withServer } from '../connection.ts'

/** `pannier resume`: goes on with a call that was put to sleep, in this process or another, now or days later. */
export function resumeCommand(server: readonly string[] | undefined): Command {
  const command = new Command('resume')
    .description('Go on with a suspended call.')
    .usage('[options] FILE')
    .argument('<file>', 'where "--suspend FILE" saved the call')
    .action((path: string, flags: AskingFlags) => {
      if (server !== undefined) throw new InputError('The saved call knows its server; leave out the command after --.')
      return atDesk((desk) => goOn(path, flags, desk))
    })
    .addHelpText('after', RESUME_HELP + ANSWER_HELP + EXIT_HELP)
  return withSaveOption(withAnswerOptions(withClientOptions(command)))
}

const RESUME_HELP = `
The file is removed when the call is done, or put to sleep in another file. Where a question stays open it is written
anew, and the call can be resumed again. Headers and tokens are not saved: give them again. A command is started again:
a server made with Pannier needs the same PANNIER_KEYS then as before.`

async function goOn(path: string, flags: AskingFlags, desk: Desk): Promise<ExitCode> {
  const file = savedFile(path)
  const saved = await file.load()
  await file.assertUsable({ mayReplaceCall: true })
  const target = targetOfCall(saved)
  const next = savedFile(flags.suspend ?? path)
  await next.assertUsable({ mayReplaceCall: flags.suspend === undefined || flags.suspend === path })
  const notes: AnswerNotes = { declined: false }
  const host = hostOf(desk, notes, next)
  // What nobody has an answer for stays open.
  const isOpenEnded = flags.yes || (!host.isTerminal && !flags.decline)
  const suspend = flags.suspend ?? (isOpenEnded ? path : undefined)
  const answerers = await chooseAnswerers(suspend === undefined ? flags : { ...flags, suspend }, host)
  return refusalCounts(desk, notes, async () => {
    const through = { send: sender(target, flags, desk, answerers) }
    const result = await resume(saved, byKind(answerers), through, { signal: desk.signal })
    const showing = {
      display: desk.display,
      output: flags.output,
      save: flags.save,
      file: flags.suspend ?? path,
      notes,
    }
    // The call is done, or further and in another file. Whether or not that can be shown, it must not be sent again.
    const isElsewhere = flags.suspend !== undefined && flags.suspend !== path
    if (isElsewhere || suspendedOf(result) === undefined) await removeOrTell(file, desk)
    return showOutcome(saved, result, showing)
  })
}

/** What came of the call is not lost because of the file. */
async function removeOrTell(file: SavedFile, { display }: Desk): Promise<void> {
  try {
    await file.remove()
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    display.note(`note: ${error.message}`)
  }
}

function sender(target: Target, flags: AskingFlags, desk: Desk, answerers: Answerers) {
  return (method: SavedCall['method'], params: SavedCall['params']): Promise<unknown> =>
    withServer(target, flags, desk, (client, options) => sendCall(client, { method, params }, options), answerers)
}

/** A command was typed here, so it runs as it would when it is typed again. */
function targetOfCall(saved: SavedCall): Target {
  return Array.isArray(saved.target) ? typedCommand(saved.target as string[], saved.cwd) : targetOf(saved)
}
