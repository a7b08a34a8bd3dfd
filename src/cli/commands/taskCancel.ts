import { Command } from 'commander'
import { cancelTask } from '../../client/index.ts'
import { type ClientFlags, TARGET_HELP, withClientOptions } from '../options/client.ts'
import { atDesk } from '../run.ts'
import { EXIT, EXIT_HELP } from '../exit.ts'
import { withServer } from '../connection.ts'
import { readTaskOperands, taskUsage } from '../options/operands.ts'

/** `pannier task cancel`: asks the server to stop a task. */
export function taskCancelCommand(server: readonly string[] | undefined): Command {
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
