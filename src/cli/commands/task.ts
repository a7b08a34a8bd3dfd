import type { Client } from '@modelcontextprotocol/client'
import { Command } from 'commander'
import { cancelTask, getTask, type Task, type TaskRequestOptions, watchTask } from '../../client/index.ts'
import { withServer } from '../connection.ts'
import { EXIT, EXIT_HELP, type ExitCode } from '../exit.ts'
import { ANSWER_HELP, answeredElsewhere, withAnswerOptions } from '../options/answers.ts'
import { type ClientFlags, TARGET_HELP, withClientOptions } from '../options/client.ts'
import type { TargetOperands } from '../options/operands.ts'
import { resultAs } from '../output/json.ts'
import { taskText } from '../output/tasks.ts'
import { type CommandContext, runAtTarget } from '../runCommand.ts'
import { type InteractiveFlags, runInteractive, showOutcome, withSaveOption } from './interactive.ts'
import { taskAnswerCommand } from './taskAnswer.ts'

/** `pannier task`: works with a task by its id, which `pannier call --detach` or another program printed. */
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

/** `pannier task get`: shows the state of a task. */
function taskGetCommand(server: readonly string[] | undefined): Command {
  const command = new Command('get')
    .description('Show how a task is now, with what it asks or what it came to.')
    .addHelpText('after', TARGET_HELP + EXIT_HELP)
  runAtTarget<InteractiveFlags>(
    command,
    { server, names: ['ID'], path: 'task get' },
    async ({ target, values: [taskId = ''] }, flags, context) => {
      const read = (client: Client, options: TaskRequestOptions): Promise<Task> => getTask(client, taskId, options)
      const task = await withServer(target, flags, context, read, answeredElsewhere())
      return showTask(task, flags, context)
    },
  )
  return withSaveOption(withClientOptions(command))
}

/** The result of a completed task goes to stdout, like the result of a call; its status goes to stderr. */
async function showTask(task: Task, flags: InteractiveFlags, context: CommandContext): Promise<ExitCode> {
  const { display } = context
  const { result } = task
  if (flags.output === 'json' || result === undefined) {
    display.print(resultAs(flags.output === 'json', { task }, () => taskText(task)))
    return EXIT.ok
  }
  display.note(taskText(task))
  return showOutcome({ call: TASK_CALL, result }, { flags, context, notes: { declined: false }, file: undefined })
}

/** `pannier task cancel`: asks the server to stop a task. */
function taskCancelCommand(server: readonly string[] | undefined): Command {
  const command = new Command('cancel')
    .description('Ask the server to cancel a task.')
    .addHelpText('after', TARGET_HELP + EXIT_HELP)
  runAtTarget<ClientFlags>(
    command,
    { server, names: ['ID'], path: 'task cancel' },
    async ({ target, values: [taskId = ''] }, flags, context) => {
      await withServer(target, flags, context, (client, options) => cancelTask(client, taskId, options))
      context.display.note('The server was asked to cancel the task; "pannier task get" shows when it has.')
      return EXIT.ok
    },
  )
  return withClientOptions(command)
}

/** `pannier task watch`: follows a task to its end, with the output and exit code of its call. */
function taskWatchCommand(server: readonly string[] | undefined): Command {
  const command = new Command('watch')
    .description('Follow a task to its end, answer what it asks, and show its result.')
    .addHelpText('after', TARGET_HELP + ANSWER_HELP + EXIT_HELP)
  const at = { server, names: ['ID'], path: 'task watch', interrupted: 'Not followed any further; the task continues.' }
  return withSaveOption(withAnswerOptions(withClientOptions(runAtTarget(command, at, watch))))
}

function watch(
  { target, values: [taskId = ''] }: TargetOperands,
  flags: InteractiveFlags,
  context: CommandContext,
): Promise<ExitCode> {
  return runInteractive(
    target,
    flags,
    context,
    async (client, { signal }) => ({ call: TASK_CALL, result: await watchTask(client, taskId, { signal }) }),
    answeredElsewhere(),
  )
}

/** The result of a task is shown as that of a call. */
const TASK_CALL = { method: 'tools/call', params: { name: 'task' } } as const
