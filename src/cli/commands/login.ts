import { Command } from 'commander'
import { addressOf, ClientError, type Target } from '../../client/index.ts'
import { NO_LOGIN, NO_LOGIN_ADVICE, offersLogin } from '../../client/internal.ts'
import { withServer } from '../connection.ts'
import { EXIT, EXIT_HELP } from '../exit.ts'
import { type ClientFlags, TARGET_HELP, withClientOptions } from '../options/client.ts'
import { readTargetOperands } from '../options/operands.ts'
import { runCommand } from '../runCommand.ts'

/** `pannier login`: logs in at a server with the browser, and keeps the tokens for the gateway and for `--oauth`. */
export function loginCommand(): Command {
  const command = new Command('login')
    .description('Log in at a server with the browser, for the gateway and for calls with --oauth.')
    .usage('[options] TARGET')
    .argument('[operands...]')
    .action((operands: string[], flags: ClientFlags) =>
      runCommand(async (context) => {
        const { target } = readTargetOperands(operands, undefined)
        await withServer(target, { ...flags, oauth: true }, context, async () => {}).catch(async (error: unknown) => {
          throw (await hasNoLogin(target)) ? noLogin(error) : error
        })
        context.display.note('The server takes your calls.')
        return EXIT.ok
      }),
    )
    .addHelpText('after', TARGET_HELP + EXIT_HELP)
  return withClientOptions(command)
}

async function hasNoLogin(target: Target): Promise<boolean> {
  const address = await addressOf(target).catch(() => undefined)
  return address !== undefined && 'url' in address && !(await offersLogin(address))
}

function noLogin(cause: unknown): ClientError {
  return new ClientError('AUTHORIZATION_FAILED', `The server ${NO_LOGIN} ${NO_LOGIN_ADVICE}`, { cause })
}
