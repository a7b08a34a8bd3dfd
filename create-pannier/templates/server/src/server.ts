/** The server and its tools. The files beside this one start it. */
import { createServer, type Server, type ServerOptions } from 'pannier/server'
import * as z from 'zod'

/** Tests pass options of their own. */
export function createMyServer(options: Partial<ServerOptions> = {}): Server {
  const server = createServer({ name: 'my-server', version: '0.1.0', ...options })

  const input = z.object({ branch: z.string() })
  server.tool('delete_branch', { description: 'Deletes a branch.', input }, async ({ branch }, ctx) => {
    // The call waits here for a person. Then this function runs again from the top, and the answered ask returns.
    const { sure } = await ctx.ask('sure', {
      message: `Delete the branch ${branch}?`,
      schema: z.object({ sure: z.boolean() }),
    })
    if (!sure) return `The branch ${branch} stays.`

    // A finished step is not repeated when the function runs again.
    const deletedAt = await ctx.step('delete', () => new Date().toISOString()) // your own work goes here
    return `The branch ${branch} was deleted at ${deletedAt}.`
  })

  return server
}
