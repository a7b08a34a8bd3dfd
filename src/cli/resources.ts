import type { Command } from 'commander'
import { listingCommand } from './listing.ts'
import { resourcesText } from './listText.ts'

/** `pannier resources`: lists the resources of a server, and the templates of resources. */
export function resourcesCommand(server: readonly string[] | undefined): Command {
  return listingCommand(
    {
      name: 'resources',
      description: 'List the resources of a server, and its templates for resources.',
      list: async (client, options) => {
        const { resources } = await client.listResources(undefined, options)
        const { resourceTemplates } = await client.listResourceTemplates(undefined, options)
        return { resources, resourceTemplates }
      },
      text: ({ resources, resourceTemplates }) => resourcesText(resources, resourceTemplates),
    },
    server,
  )
}
