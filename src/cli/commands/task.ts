import { Command } from 'commander'
import { cancelTask, getTask, savedFile, type Task, watchTask } from '../../client/index.ts'
import { withServer } from '../connection.ts'
import { EXIT, EXIT_HELP, type ExitCode } from '../exit.ts'
import { ANSWER_HELP, type AnswerNotes, chooseAnswerers, withAnswerOptions } from '../options/answers.ts'
import { type ClientFlags, TARGET_HELP, withClientOptions } from '../options/client.ts'
import { readTaskOperands, type TaskOperands, taskUsage } from '../options/operands.ts'
import { jsonText } from '../output/json.ts'
import { taskText } from '../output/tasks.ts'
import { atDesk, type Desk } from '../run.ts'
import { answeredElsewhere } from './detached.ts'
import { type AskingFlags, hostOf, refusalCounts, showOutcome, withSaveOption } from './interactive.ts'
import { taskAnswerCommand } from './taskAnswer.ts'

/** `pannier task`: goes on with a task that was left with its id, by `pannier call --detach` or by another program. */
export function taskCommand(server: readonly string[] | undefined): Command {
  return new Command('task')
    .description('Look at a task, answer it, cancel it, or follow it to its end.')
    .usage('COMMAND TARGET ID')
    .helpCommand(false)
    .addCommand(taskGetCommand(server))
    .addCommand(taskAnswerCommand(server))
    .addCommand(taskCancelCommand(server))
    .addCommand(taskWatchCommand(server))
}

/** `pannier task get`: shows how a task is now. */
function taskGetCommand(server: readonly string[] | undefined): Command {
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

/** `pannier task cancel`: asks the server to stop a task. */
function taskCancelCommand(server: readonly string[] | undefined): Command {
  const command = new Command('cancel')
    .description('Ask the server to cancel a task.')
    .usage(taskUsage('cancel'))
    .argument('[operands...]')
    .action((operands: string[], flags: ClientFlags) =>
      atDesk(async (desk) => {
        const { target, taskId } = readTaskOperands(operands, server)
        await withServer(target, flags, desk, (client, options) => cancelTask(client, taskId, options))
        desk.display.note('The server was asked to cancel the task; "pannier task get" shows when it has.')
        return EXIT.ok
      }),
    )
    .addHelpText('after', TARGET_HELP + EXIT_HELP)
  return withClientOptions(command)
}

/** `pannier task watch`: follows a task to its end, and ends as its call would have. */
function taskWatchCommand(server: readonly string[] | undefined): Command {
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
