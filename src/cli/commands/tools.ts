import type { Command } from 'commander'
import { listingCommand } from './lists.ts'
import { toolsText } from '../output/lists.ts'

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
