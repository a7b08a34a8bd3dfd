/**
 * One of several instances: its tools ask, wait and report, and write each effect as a line of a file, so that whoever
 * started it sees which calls happened, where, and how often. Says its address in its first line.
 */
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer } from 'pannier/server'
import { z } from 'zod'

const file = process.env['EFFECTS'] ?? ''
const write = (what: 'began' | 'done' | 'cancelled', call: string): void =>
  appendFileSync(file, `${what} ${call} ${process.pid}\n`)

const server = createServer({ name: 'survival', version: '1.0.0' })
const input = z.object({ call: z.string() })
const nameForm = { message: 'Who is there?', schema: z.object({ name: z.string() }) }

/** A tool whose call is noted when it begins and when it has had its effect. */
function offer(name: string, run: (ctx: Parameters<Parameters<typeof server.tool>[2]>[1]) => Promise<string>): void {
  server.tool(name, { description: `The tool ${name}.`, input }, async ({ call }, ctx) => {
    write('began', call)
    const result = await run(ctx)
    write('done', call)
    return result
  })
}

offer('ask_twice', async (ctx) => {
  const first = await ctx.ask('first', nameForm)
  const second = await ctx.ask('second', nameForm)
  return `${first.name} ${second.name}`
})

offer('sample', async (ctx) => {
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Sum up.' } }]
  const { content } = await ctx.sample('words', { messages, maxTokens: 10 })
  return JSON.stringify(content)
})

offer('roots', async (ctx) => (await ctx.roots('folders')).map(({ uri }) => uri).join(' '))

offer('progress', async (ctx) => {
  for (let step = 1; step <= 3; step++) {
    ctx.progress(step, 3)
    await sleep(2)
  }
  return 'reported'
})

offer('resumed', async (ctx) => {
  ctx.hangUp(1)
  await sleep(10)
  return 'resumed'
})

server.tool('cancelled', { description: 'Waits until it is cancelled.', input }, async ({ call }, ctx) => {
  write('began', call)
  ctx.progress(1)
  const stop = sleep(30_000, undefined, { signal: ctx.signal })
  await stop.catch(() => write('cancelled', call))
  return 'was not cancelled'
})

const { url } = await server.listen({ port: Number(process.env['PORT'] ?? 0) })
process.stdout.write(`${url}\n`)
