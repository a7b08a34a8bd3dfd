/** Tools that run as tasks: one that asks, one that asks before it is a task, and ones that come to other ends. */
import { appendFileSync } from 'node:fs'
import type { Server } from 'pannier/server'
import { z } from 'zod'

const name = { message: 'For whom?', schema: z.object({ name: z.string().default('Bo') }) }
const colour = { message: 'Which colour?', schema: z.object({ colour: z.enum(['red', 'blue']), coats: z.number() }) }
const required = { task: 'required' } as const

export function offerTasks(server: Server): Server {
  server.tool('greet', { description: 'Asks for whom.', ...required }, async (_, ctx) => {
    ctx.progress(1, 2, 'looking for a card')
    const answer = await ctx.ask('whom', name)
    ctx.progress(2, 2, `writing to ${answer.name}`)
    return `Dear ${answer.name}`
  })
  server.tool('paint', { description: 'Asks two things at once.', ...required }, async (_, ctx) => {
    const [whom, paint] = await Promise.all([ctx.ask('whom', name), ctx.ask('paint', colour)])
    return `${paint.coats} coats of ${paint.colour} for ${whom.name}`
  })
  server.tool(
    'order',
    { description: 'Asks first, then goes on as a task.', ...required, startsAs: 'call' },
    async (_, ctx) => {
      const answer = await ctx.ask('whom', name)
      await ctx.detach()
      const paint = await ctx.ask('paint', colour)
      return `${paint.colour} for ${answer.name}`
    },
  )
  server.tool('either', { description: 'A task or not.', task: 'optional' }, () => 'either way')
  server.tool('plain', { description: 'Never a task.' }, () => 'at once')
  server.tool(
    'sum',
    {
      description: 'Adds.',
      ...required,
      input: z.object({ a: z.number(), b: z.number() }),
      output: z.object({ sum: z.number() }),
    },
    ({ a, b }) => ({
      content: [],
      structuredContent: { sum: a + b },
    }),
  )
  server.tool('fail', { description: 'Says that it failed.', ...required }, () => ({
    content: [{ type: 'text', text: 'Out of paint.' }],
    isError: true,
  }))
  server.tool('keep', { description: 'Has the client keep something.', ...required }, (_, ctx) => {
    const before = ctx.state.server.get('visits')
    const visits = (typeof before === 'number' ? before : 0) + 1
    ctx.state.server.set('visits', visits)
    return `visit ${visits}`
  })
  server.tool('dry', { description: 'Works until it is cancelled.', ...required }, async (_, ctx) => {
    ctx.progress(1, 4, 'still wet')
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }))
    appendFileSync(process.env['DONE'] ?? '/dev/null', 'cancelled\n')
    return 'dry'
  })
  return server
}
