/**
 * What the servers of these tests offer. Everything a test wants to know of the server it learns through a tool, so the
 * same tests run against a server in this process and in another.
 */
import { text } from 'pannier/server'
import type { Context, Server } from 'pannier/server'
import { z } from 'zod'
import { offerAsks } from './offerAsks.ts'
import { offerStates } from './offerStates.ts'

export const README = 'docs://readme'

export function offer(server: Server): Server {
  offerTools(server)
  offerAsks(server)
  offerStates(server)
  offerWatching(server)
  offerReading(server)
  return server
}

function offerTools(server: Server): void {
  server.tool('echo', { description: 'Says it again.', input: z.object({ text: z.string() }) }, ({ text }) => text)
  server.tool(
    'add',
    {
      description: 'Adds.',
      input: z.object({ a: z.number(), b: z.number() }),
      output: z.object({ sum: z.number() }),
    },
    ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }),
  )
  server.tool(
    'query',
    {
      description: 'Queries a region.',
      input: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
    },
    ({ region }) => `from ${String(region)}`,
  )
  offerCounting(server)
  server.tool('chatter', { description: 'Talks at three levels.' }, (_, ctx) => {
    for (const level of ['debug', 'info', 'error'] as const) ctx.log(level, `said at ${level}`)
    return 'said'
  })
  offerHolding(server)
}

/** `count` tells how far it is, and ends when its client has heard it: the SDK drops progress that comes with the result. */
function offerCounting(server: Server): void {
  let onHeard: (() => void) | undefined
  server.tool('count', { description: 'Tells how far it is.' }, async (_, ctx) => {
    const heard = new Promise<void>((resolve) => (onHeard = resolve))
    for (const step of [1, 2, 3]) ctx.progress(step, 3, `step ${step}`)
    await heard
    return 'counted'
  })
  server.tool('heard', { description: 'Lets the count end.' }, () => {
    onHeard?.()
    return 'good'
  })
}

/** `hold` works until it is cancelled; `released` answers when that has happened. */
function offerHolding(server: Server): void {
  let released = 0
  let onRelease: (() => void) | undefined
  const hold = (_: unknown, ctx: Context): Promise<string> =>
    new Promise((resolve) => {
      ctx.signal.addEventListener('abort', () => {
        released++
        onRelease?.()
        resolve('cancelled')
      })
      ctx.progress(1)
    })
  server.tool('hold', { description: 'Works until it is cancelled.' }, hold)
  server.tool('released', { description: 'Waits for a cancelled hold.' }, async () => {
    if (released === 0) await new Promise<void>((resolve) => (onRelease = resolve))
    return `${released} cancelled`
  })
}

/** Tools that change what a client may watch. */
function offerWatching(server: Server): void {
  server.tool('grow', { description: 'Adds a tool.', input: z.object({ name: z.string() }) }, ({ name }) => {
    server.tool(name, { description: 'Added later.' }, () => 'late')
    return 'grown'
  })
  server.tool('touch', { description: 'Changes a resource.', input: z.object({ uri: z.string() }) }, ({ uri }) => {
    server.updated(uri)
    return 'touched'
  })
}

function offerReading(server: Server): void {
  server.prompt(
    'review',
    { description: 'Asks for a review.', input: z.object({ topic: z.string() }) },
    ({ topic }) => `Review the ${topic}.`,
  )
  server.resource(README, { name: 'readme', mimeType: 'text/plain' }, () => 'Read me.')
  server.resource('docs://logo', { name: 'logo', mimeType: 'image/png' }, () => new Uint8Array([1, 2, 3]))
  server.resourceTemplate('pages://{name}', { name: 'page' }, (_, { name }) => `The page ${name}.`)
  const starting = (typed: string) => ['code', 'colour', 'prose'].filter((word) => word.startsWith(typed))
  server.completion({ prompt: 'review', argument: 'topic' }, starting)
  server.completion({ template: 'pages://{name}', variable: 'name' }, starting)
}
