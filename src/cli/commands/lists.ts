/** The commands that list what a server offers; they differ in what they ask for and how it reads. */
import { type Client, ProtocolError, ProtocolErrorCode, type ResourceTemplateType } from '@modelcontextprotocol/client'
import { Command } from 'commander'
import type { Json } from '../../protocol/index.ts'
import { type CallOptions, withServer } from '../connection.ts'
import { EXIT, EXIT_HELP } from '../exit.ts'
import { type ClientFlags, TARGET_HELP, withClientOptions } from '../options/client.ts'
import { readOperands } from '../options/operands.ts'
import { jsonText } from '../output/json.ts'
import { promptsText, resourcesText, toolsText } from '../output/lists.ts'
import { atDesk } from '../run.ts'

interface Listing<List extends Json> {
  readonly name: string
  readonly description: string
  list(client: Client, options: CallOptions): Promise<List>
  text(list: List): string
}

function listingCommand<List extends Json>(
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

/** `pannier tools`: lists the tools of a server. */
export function toolsCommand(server: readonly string[] | undefined): Command {
  return listingCommand(
    {
      name: 'tools',
      description: 'List the tools of a server.',
      list: async (client, options) => ({ tools: (await client.listTools(undefined, options)).tools }),
      text: ({ tools }) => toolsText(tools),
    },
    server,
  )
}

/** `pannier prompts`: lists the prompts of a server. */
export function promptsCommand(server: readonly string[] | undefined): Command {
  return listingCommand(
    {
      name: 'prompts',
      description: 'List the prompts of a server.',
      list: async (client, options) => ({ prompts: (await client.listPrompts(undefined, options)).prompts }),
      text: ({ prompts }) => promptsText(prompts),
    },
    server,
  )
}

/** A server need not have templates, and many that have none do not know the question. */
function noTemplates(error: unknown): { resourceTemplates: ResourceTemplateType[] } {
  if (error instanceof ProtocolError && error.code === ProtocolErrorCode.MethodNotFound)
    return { resourceTemplates: [] }
  throw error
}

/** `pannier resources`: lists the resources of a server, and the templates of resources. */
export function resourcesCommand(server: readonly string[] | undefined): Command {
  return listingCommand(
    {
      name: 'resources',
      description: 'List the resources of a server, and its templates for resources.',
      list: async (client, options) => {
        const { resources } = await client.listResources(undefined, options)
        const { resourceTemplates } = await client.listResourceTemplates(undefined, options).catch(noTemplates)
        return { resources, resourceTemplates }
      },
      text: ({ resources, resourceTemplates }) => resourcesText(resources, resourceTemplates),
    },
    server,
  )
}
