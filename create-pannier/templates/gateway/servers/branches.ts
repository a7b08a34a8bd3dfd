/** A server that the gateway starts as a program. */
import { createServer } from 'pannier/server'
import * as z from 'zod'

const server = createServer({ name: 'branches', version: '0.1.0' })

const input = z.object({ branch: z.string() })
server.tool('delete_branch', { description: 'Deletes a branch.', input }, async ({ branch }, ctx) => {
  const { sure } = await ctx.ask('sure', {
    message: `Delete the branch ${branch}?`,
    schema: z.object({ sure: z.boolean() }),
  })
  return sure ? `The branch ${branch} was deleted.` : `The branch ${branch} stays.` // your own work goes here
})

await server.stdio()
