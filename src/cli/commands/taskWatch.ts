import { Command } from 'commander'
import { savedFile, watchTask } from '../../client/index.ts'
import { ANSWER_HELP, type AnswerNotes, chooseAnswerers, withAnswerOptions } from '../options/answers.ts'
import { type AskingFlags, hostOf, refusalCounts, withSaveOption } from './asking.ts'
import { showOutcome } from './interactive.ts'
import { TARGET_HELP, withClientOptions } from '../options/client.ts'
import { atDesk, type Desk } from '../run.ts'
import { answeredElsewhere } from './detached.ts'
import { EXIT_HELP, type ExitCode } from '../exit.ts'
import { withServer } from '../connection.ts'
import { readTaskOperands, type TaskOperands, taskUsage } from '../options/operands.ts'

/** `pannier task watch`: follows a task to its end, and ends as its call would have. */
export function taskWatchCommand(server: readonly string[] | undefined): Command {
  const command = new Command('watch')
    .description('Follow a task to its end, answer what it asks, and show its result.')
    .usage(taskUsage('watch'))
    .argument('[operands...]')
    .action((operands: string[], flags: AskingFlags) =>
      atDesk((desk) => watch(readTaskOperands(operands, server), flags, desk), {
        interrupted: 'Not followed any further; the task goes on.',
      }),
    )
    .addHelpText('after', TARGET_HELP + ANSWER_HELP + EXIT_HELP)
  return withSaveOption(withAnswerOptions(withClientOptions(command)))
}

async function watch({ target, taskId }: TaskOperands, flags: AskingFlags, desk: Desk): Promise<ExitCode> {
  const notes: AnswerNotes = { declined: false }
  const file = flags.suspend === undefined ? undefined : savedFile(flags.suspend)
  await file?.assertUsable()
  const answerers = { ...answeredElsewhere(), ...(await chooseAnswerers(flags, hostOf(desk, notes, file))) }
  return refusalCounts(desk, notes, async () => {
    const { signal } = desk
    const result = await withServer(target, flags, desk, (client) => watchTask(client, taskId, { signal }), answerers)
    const { output, save, suspend } = flags
    const call = { method: 'tools/call', params: { name: 'task' } } as const
    return showOutcome(call, result, { display: desk.display, output, save, file: suspend, notes })
  })
}
