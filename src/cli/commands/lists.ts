/** The commands that list what a server offers; they differ in what they ask for and how it reads. */
import type { Client } from '@modelcontextprotocol/client'
import { Command } from 'commander'
import type { Json } from '../../protocol/index.ts'
import { type ClientFlags, TARGET_HELP, withClientOptions } from '../options/client.ts'
import { readOperands } from '../options/commandLine.ts'
import { atDesk } from '../run.ts'
import { EXIT, EXIT_HELP } from '../exit.ts'
import { jsonText } from '../output/json.ts'
import { type CallOptions, withServer } from '../connection.ts'

export interface Listing<List extends Json> {
  readonly name: string
  readonly description: string
  list(client: Client, options: CallOptions): Promise<List>
  text(list: List): string
}

export function listingCommand<List extends Json>(
  { name, description, list, text }: Listing<List>,
  server: readonly string[] | undefined,
): Command {
  const command = new Command(name)
    .description(description)
    .usage(`[options] TARGET\n       pannier ${name} [options] -- COMMAND …`)
    .argument('[operands...]')
    .action((operands: string[], flags: ClientFlags) =>
      atDesk(async (desk) => {
        const { target } = readOperands(operands, server)
        const found = await withServer(target, flags, desk, list)
        desk.display.print(flags.output === 'json' ? jsonText(found) : text(found))
        return EXIT.ok
      }),
    )
    .addHelpText('after', TARGET_HELP + EXIT_HELP)
  return withClientOptions(command)
}
