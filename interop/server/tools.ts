/** The tools that the clients call: one for each thing that is tried. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context, HandlerCall, Server } from 'pannier/server'
import { z } from 'zod'
import type { Report } from './events.ts'

const colourForm = { message: 'Which colour?', schema: z.object({ colour: z.string() }) }

export function offerTools(server: Server, report: Report): Server {
  server.use((call, next) => {
    report(callEvent(call))
    return next()
  })
  server.tool('echo', { description: 'Says it again.', input: z.object({ text: z.string() }) }, ({ text }) => text)
  offerQuestions(server)
  server.tool('count', { description: 'Tells how far it is.' }, async (_, ctx) => {
    for (const step of [1, 2, 3]) {
      ctx.progress(step, 3, `step ${step}`)
      await sleep(100) // the official SDK drops progress that it reads together with the result
    }
    return 'counted'
  })
  server.tool('wait', { description: 'Works until it is cancelled.' }, (_, ctx) => waitUntilCancelled(ctx, report))
  server.tool('bake', { description: 'Takes a while.', task: 'required' }, async (_, ctx) => {
    await ctx.step('bake', () => sleep(300, 'baked', { signal: ctx.signal }))
    return 'baked'
  })
  return server
}

function offerQuestions(server: Server): void {
  server.tool('paint', { description: 'Asks for a colour.' }, async (_, ctx) => {
    const { colour } = await ctx.ask('colour', colourForm)
    return `painted ${colour}`
  })
  server.tool('sum_up', { description: 'Lets the model write.' }, async (_, ctx) => {
    const { content } = await ctx.sample('words', {
      messages: [{ role: 'user', content: { type: 'text', text: 'Sum up.' } }],
      maxTokens: 100,
    })
    const [block] = [content].flat()
    return `the model wrote: ${block?.type === 'text' ? block.text : block?.type}`
  })
}

const MAX_WAIT_MS = 20_000

async function waitUntilCancelled({ signal }: Context, report: Report): Promise<string> {
  report({ kind: 'waiting' })
  try {
    await sleep(MAX_WAIT_MS, undefined, { signal })
    return 'nobody cancelled'
  } catch {
    report({ kind: 'cancelled' })
    return 'cancelled'
  }
}

function callEvent({ name, task, era, meta }: HandlerCall): Parameters<Report>[0] {
  return { kind: 'call', name, era, asTask: task !== undefined, wantsProgress: 'progressToken' in meta }
}
