/** The operations of an API as tools of a server of one's own, beside a tool that asks. */
// #region server
import { readFile } from 'node:fs/promises'
import { openApiServer } from 'pannier/openapi'
import { z } from 'zod'

const url = process.env['PETS_URL'] ?? 'https://pets.example.com/v1'
const headers = { authorization: `Bearer ${process.env['PETS_TOKEN'] ?? ''}` }
const document = await readFile(new URL('pets.yaml', import.meta.url), 'utf8')
const { server, leftOut } = await openApiServer(document, { url, headers })
for (const { operation, why } of leftOut) console.error(`${operation}: ${why}`)

// Instead of the tool that removes a pet, one that asks before.
server.remove('tools', 'deletePet')
const input = z.object({ petId: z.int() })
server.tool('delete_pet', { description: 'Removes a pet, if the person agrees.', input }, async ({ petId }, ctx) => {
  const { sure } = await ctx.ask('sure', { message: `Remove pet ${petId}?`, schema: z.object({ sure: z.boolean() }) })
  if (!sure) return 'The pet stays.'
  const removed = await ctx.step('remove', async () => {
    const { status } = await fetch(`${url}/pets/${petId}`, { method: 'DELETE', headers })
    return status
  })
  return `The API answered ${removed}.`
})
// #endregion server

export const { url: address } = await server.listen({ port: Number(process.env['PORT'] ?? 3000) })
export { server }
