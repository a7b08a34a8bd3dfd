import { Command } from 'commander'
import { taskAnswerCommand } from './taskAnswer.ts'
import { taskCancelCommand } from './taskCancel.ts'
import { taskGetCommand } from './taskGet.ts'
import { taskWatchCommand } from './taskWatch.ts'

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
