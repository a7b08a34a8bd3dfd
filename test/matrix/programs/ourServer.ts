/** The same tools as those of sdkServer.ts, of a stateless server of ours. */
import { appendFileSync } from 'node:fs'
import { createServer, structured } from 'pannier/server'
import { z } from 'zod'

const file = process.env['EFFECTS'] ?? ''
const write = (what: string, key: string): void => appendFileSync(file, `${what} ${key} ${process.pid}\n`)

const server = createServer({ name: 'matrix', version: '1.0.0' })
const input = z.object({ key: z.string() })
const schema = z.object({ name: z.string() })
type Ctx = Parameters<Parameters<typeof server.tool>[2]>[1]

/** A handler runs anew in each round, so effects are steps. */
function offer(name: string, run: (ctx: Ctx) => Promise<string>): void {
  server.tool(name, { description: name, input }, async ({ key }, ctx) => {
    await ctx.step('began', () => write('began', key))
    const text = await run(ctx)
    await ctx.once('done', () => write('done', key))
    return text
  })
}

const ask = async (ctx: Ctx, message: string): Promise<string> => {
  const answer = await ctx.elicit(message, { message, schema })
  return answer.action === 'accept' ? answer.content.name : answer.action
}

offer('plain', async () => 'plain')
offer('one', (ctx) => ask(ctx, 'Name?'))
offer('two', async (ctx) => `${await ask(ctx, 'First?')} ${await ask(ctx, 'Second?')}`)
offer('two_again', async (ctx) => `${await ask(ctx, 'First?')} ${await ask(ctx, 'Second?')}`)
offer('many', async (ctx) => (await Promise.all(['A?', 'B?', 'C?'].map((message) => ask(ctx, message)))).join(' '))
offer('decline', (ctx) => ask(ctx, 'Decline?'))
offer('cancel', (ctx) => ask(ctx, 'Cancel?'))
offer('sample', async (ctx) => {
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Think.' } }]
  const { content } = await ctx.sample('words', { messages, maxTokens: 10 })
  return 'text' in content ? String(content.text) : ''
})
offer('roots', async (ctx) => (await ctx.roots('folders')).map(({ uri }) => uri).join(' '))
offer('progress', async (ctx) => {
  for (const progress of [1, 2, 3]) ctx.progress(progress, 3)
  return 'reported'
})
server.tool('cancelled', { description: 'cancelled', input }, async ({ key }, ctx) => {
  write('began', key)
  await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
  write('cancelled', key)
  return 'cancelled'
})
server.tool('structured', { description: 'structured', input, output: input }, ({ key }) => structured({ key }))
server.tool('failed', { description: 'failed', input }, () => {
  throw new Error('It broke.')
})

const { port } = await server.listen({ port: Number(process.env['PORT'] ?? 0) })
console.log(port)
