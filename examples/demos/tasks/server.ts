/** One instance of `npm run demo -- tasks`: a task that works, asks, and works on. Its tasks are in the file TASKS. */
import { createServer } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import * as z from 'zod'

const { TASKS: path = 'tasks.db', INSTANCE: name = 'A' } = process.env
// An instance never outlives the process that started it.
process.on('disconnect', () => process.exit())

const server = createServer({ name: 'bakery', version: '1.0.0', tasks: sqliteTasks({ path, pollMs: 100 }) })

// #region tool
server.tool('bake', { description: 'Bakes a cake.', task: 'required' }, async (_, ctx) => {
  const mixedBy = await ctx.step('mix', () => `instance ${name}`) // your own work goes here
  ctx.progress(1, 3, 'Mixed')
  const { text } = await ctx.ask('icing', {
    message: 'What shall stand on it?',
    schema: z.object({ text: z.string() }),
  })
  const bakedBy = await ctx.step('bake', () => `instance ${name}`)
  ctx.progress(3, 3, 'Baked')
  return `A cake that says "${text}", mixed by ${mixedBy} and baked by ${bakedBy}.`
})
// #endregion tool

const { url } = await server.listen({ port: 0 })
process.send?.({ url })
