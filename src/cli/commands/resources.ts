import { ProtocolError, ProtocolErrorCode, type ResourceTemplateType } from '@modelcontextprotocol/client'
import type { Command } from 'commander'
import { listingCommand } from './lists.ts'
import { resourcesText } from '../output/lists.ts'

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
