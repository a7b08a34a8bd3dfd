/** What the program and `connect` are tried with: the same kitchen of Pannier, and of both versions of the official SDK. */
import { appendFileSync } from 'node:fs'
import { createServer, type Server, type ServerOptions } from 'pannier/server'
import { z } from 'zod'

/** Clears the screen, changes the title, colours, moves, rings, and turns the direction of writing. */
export const NASTY = 'a\u001b[2J\u001b]0;title\u0007\u001b[31mred\r\n\ttab\u009b1mc1\u202eback\u0000end'

export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const dish = { message: 'What shall it be?', schema: z.object({ dish: z.string().default('soup') }) }

const table = { message: 'Which table?', schema: z.object({ number: z.int() }) }

export function makeKitchen(options: Partial<ServerOptions> = {}): Server {
  const server = createServer({ name: 'kitchen', version: '1.0.0', ...options })
  server.tool(
    'add',
    { description: 'Adds.', input: z.object({ a: z.number(), b: z.number() }) },
    ({ a, b }) => `${a + b}`,
  )
  server.tool('fail', { description: 'Fails.' }, () => ({
    content: [{ type: 'text', text: 'It burnt.' }],
    isError: true,
  }))
  server.tool('nasty', { description: NASTY }, () => NASTY)
  server.tool('picture', { description: 'Draws.' }, () => ({
    content: [{ type: 'image', data: PIXEL, mimeType: 'image/png' }],
  }))
  server.tool('cook', { description: 'Asks what.' }, async (_, ctx) => {
    const chosen = await ctx.ask('dish', dish)
    return `Here is your ${chosen.dish}.`
  })
  server.tool('serve', { description: 'Asks what, and where to.' }, async (_, ctx) => {
    const [chosen, place] = await Promise.all([ctx.ask('dish', dish), ctx.ask('table', table)])
    return `${chosen.dish} for table ${place.number}`
  })
  server.tool('collapse', { description: 'Ends the process.' }, () => process.exit(9))
  server.tool('simmer', { description: 'Works until it is cancelled.' }, async (_, ctx) => {
    ctx.progress(1, 4, 'on the stove')
    ctx.log('info', 'on the stove')
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    appendFileSync(process.env['DONE'] ?? '/dev/null', 'cancelled\n')
    return 'off the stove'
  })
  server.tool('who', { description: 'Says who calls.' }, (_, ctx) => ctx.principal?.id ?? 'nobody')
  server.tool('visits', { description: 'Counts.' }, (_, ctx) => {
    const before = ctx.state.server.get('visits')
    const visits = (typeof before === 'number' ? before : 0) + 1
    ctx.state.server.set('visits', visits)
    return `visit ${visits}`
  })
  server.prompt('recipe', { description: 'How to cook.', input: z.object({ dish: z.string() }) }, (given) => {
    return `Tell me how to cook ${given.dish}.`
  })
  server.resource('menu://today', { name: 'menu', mimeType: 'text/plain' }, () => 'Soup.')
  server.resource(
    'menu://photo.png',
    { name: 'photo', mimeType: 'image/png' },
    () => new Uint8Array(Buffer.from(PIXEL, 'base64')),
  )
  return server
}
