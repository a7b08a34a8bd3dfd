/** A long job that asks a question. Start it twice with the same file, kill one, and the other continues the job. */
// #region server
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import * as z from 'zod'

const tasks = sqliteTasks({ path: process.env['TASKS'] ?? 'tasks.db' })
const server = createServer({ name: 'long-job', version: '1.0.0', tasks })

const input = z.object({ loaves: z.number().int().positive().default(20) })
server.tool('bake', { description: 'Bakes bread.', input, task: 'required' }, async ({ loaves }, ctx) => {
  for (let loaf = 1; loaf <= loaves; loaf++) {
    await ctx.step(`loaf ${loaf}`, () => sleep(1000, undefined, { signal: ctx.signal })) // your own work goes here
    ctx.progress(loaf, loaves, `Loaf ${loaf} of ${loaves}`)
  }
  const { name } = await ctx.ask('customer', { message: 'Who gets them?', schema: z.object({ name: z.string() }) })
  const sold = await ctx.once('sell', (idempotencyKey) => ({ receipt: idempotencyKey.slice(0, 8) }))
  return `${loaves} loaves for ${name}, receipt ${sold.receipt}.`
})

const { url } = await server.listen({ port: Number(process.env['PORT'] ?? 3000) })
console.log(`Listening at ${url}`)
// #endregion server
