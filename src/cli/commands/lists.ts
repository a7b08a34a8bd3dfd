/** The commands `tools`, `prompts` and `resources`, which list what a server offers. */
import { type Client, ProtocolError, ProtocolErrorCode, type ResourceTemplateType } from '@modelcontextprotocol/client'
import { Command } from 'commander'
import type { Json } from '../../protocol/index.ts'
import { type CallOptions, withServer } from '../connection.ts'
import { EXIT, EXIT_HELP } from '../exit.ts'
import { type ClientFlags, TARGET_HELP, withClientOptions } from '../options/client.ts'
import { resultAs } from '../output/json.ts'
import { promptsText, resourcesText, toolsText } from '../output/lists.ts'
import { runAtTarget } from '../runCommand.ts'

/** `pannier tools`: lists the tools of a server. */
export function toolsCommand(server: readonly string[] | undefined): Command {
  return listCommand(
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
  return listCommand(
    {
      name: 'prompts',
      description: 'List the prompts of a server.',
      list: async (client, options) => ({ prompts: (await client.listPrompts(undefined, options)).prompts }),
      text: ({ prompts }) => promptsText(prompts),
    },
    server,
  )
}

/** `pannier resources`: lists the resources of a server, and the templates of resources. */
export function resourcesCommand(server: readonly string[] | undefined): Command {
  return listCommand(
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

/** Templates are optional, and many servers without them answer "method not found". */
function noTemplates(error: unknown): { resourceTemplates: ResourceTemplateType[] } {
  if (error instanceof ProtocolError && error.code === ProtocolErrorCode.MethodNotFound)
    return { resourceTemplates: [] }
  throw error
}

interface ListCommand<List extends Json> {
  readonly name: string
  readonly description: string
  list(client: Client, options: CallOptions): Promise<List>
  text(list: List): string
}

function listCommand<List extends Json>(
  { name, description, list, text }: ListCommand<List>,
  server: readonly string[] | undefined,
): Command {
  const command = new Command(name).description(description).addHelpText('after', TARGET_HELP + EXIT_HELP)
  runAtTarget<ClientFlags>(command, { server }, async ({ target }, flags, context) => {
    const found = await withServer(target, flags, context, list)
    context.display.print(resultAs(flags.output === 'json', found, () => text(found)))
    return EXIT.ok
  })
  return withClientOptions(command)
}
