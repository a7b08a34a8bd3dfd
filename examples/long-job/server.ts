/**
 * A job that runs as a task: it continues in another process when this one is killed, and another person approves its
 * result.
 */
// #region server
import { setTimeout as sleep } from 'node:timers/promises'
import { AuthError, createServer } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import * as z from 'zod'

/** Who calls. A real server reads this from a token, with `bearer()`. */
const people = new Map([
  ['key-of-ann', { id: 'ann' }],
  ['key-of-mia', { id: 'mia', claims: { role: 'manager' } }],
])

const server = createServer({
  name: 'bakery',
  version: '1.0.0',
  tasks: sqliteTasks({ path: process.env['TASKS'] ?? 'tasks.db' }),
  principal: ({ header }) => {
    const person = people.get(header('x-key') ?? '')
    if (person === undefined) throw new AuthError('AUTH_MISSING', 'Send a key in the X-Key header.')
    return person
  },
})

const input = z.object({ loaves: z.number().int().positive().default(20) })
server.tool('bake', { description: 'Bakes bread.', input, task: 'required' }, async ({ loaves }, ctx) => {
  for (let loaf = 1; loaf <= loaves; loaf++) {
    await ctx.step(`loaf ${loaf}`, () => sleep(1000, undefined, { signal: ctx.signal })) // your own work goes here
    ctx.progress(loaf, loaves, `Loaf ${loaf} of ${loaves}`)
  }
  const { deliver } = await ctx.ask('deliver', {
    message: `${loaves} loaves are ready. Deliver them?`,
    schema: z.object({ deliver: z.boolean() }),
    by: 'role:manager',
  })
  if (!deliver) return `${loaves} loaves stay here.`
  const sold = await ctx.once('sell', (idempotencyKey) => ({ receipt: idempotencyKey.slice(0, 8) }))
  return `${loaves} loaves delivered, approved by ${ctx.answeredBy('deliver')?.subject}, receipt ${sold.receipt}.`
})

const { url } = await server.listen({ port: Number(process.env['PORT'] ?? 3000) })
console.log(`Listening at ${url}`)
// #endregion server
