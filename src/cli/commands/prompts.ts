import type { Command } from 'commander'
import { listingCommand } from './lists.ts'
import { promptsText } from '../output/lists.ts'

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
