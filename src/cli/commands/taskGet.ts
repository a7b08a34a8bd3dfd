import { Command } from 'commander'
import { getTask, type Task } from '../../client/index.ts'
import { type AskingFlags, withSaveOption } from './asking.ts'
import { showOutcome } from './interactive.ts'
import { TARGET_HELP, withClientOptions } from '../options/client.ts'
import { atDesk, type Desk } from '../run.ts'
import { EXIT, EXIT_HELP, type ExitCode } from '../exit.ts'
import { jsonText } from '../output/json.ts'
import { withServer } from '../connection.ts'
import { readTaskOperands, taskUsage } from '../options/operands.ts'
import { taskText } from '../output/tasks.ts'

/** `pannier task get`: shows how a task is now. */
export function taskGetCommand(server: readonly string[] | undefined): Command {
  const command = new Command('get')
    .description('Show how a task is now, with what it asks or what it came to.')
    .usage(taskUsage('get'))
    .argument('[operands...]')
    .action((operands: string[], flags: AskingFlags) =>
      atDesk(async (desk) => {
        const { target, taskId } = readTaskOperands(operands, server)
        const task = await withServer(target, flags, desk, (client, options) => getTask(client, taskId, options))
        return show(task, flags, desk)
      }),
    )
    .addHelpText('after', TARGET_HELP + EXIT_HELP)
  return withSaveOption(withClientOptions(command))
}

/** How a task is, is no result: it goes where people read. What the task came to is one. */
async function show(task: Task, { output, save }: AskingFlags, { display }: Desk): Promise<ExitCode> {
  if (output === 'json') {
    display.print(jsonText({ task }))
    return EXIT.ok
  }
  const { result } = task
  if (result === undefined) {
    display.print(taskText(task))
    return EXIT.ok
  }
  display.note(taskText(task))
  const call = { method: 'tools/call', params: { name: 'task' } } as const
  return showOutcome(call, result, { display, output, save, file: undefined, notes: { declined: false } })
}
