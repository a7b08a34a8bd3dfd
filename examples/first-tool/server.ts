/** A tool that asks a person before it acts. `call.ts` beside it shows the client's side of the call. */
// #region server
import { createServer } from 'pannier/server'
import * as z from 'zod'

const server = createServer({ name: 'first-tool', version: '1.0.0' })

const input = z.object({ branch: z.string() })
server.tool('delete_branch', { description: 'Deletes a branch.', input }, async ({ branch }, ctx) => {
  const { sure } = await ctx.ask('sure', {
    message: `Delete the branch ${branch}?`,
    schema: z.object({ sure: z.boolean() }),
  })
  if (!sure) return `The branch ${branch} stays.`

  const deletedAt = await ctx.step('delete', () => new Date().toISOString()) // your own work goes here
  return `The branch ${branch} was deleted at ${deletedAt}.`
})

const { url } = await server.listen({ port: Number(process.env['PORT'] ?? 3000) })
console.log(`Listening at ${url}`)
// #endregion server
