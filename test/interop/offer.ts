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
  const heard = new Signal()
  server.tool('count', { description: 'Tells how far it is.' }, async (_, ctx) => {
    for (const step of [1, 2, 3]) ctx.progress(step, 3, `step ${step}`)
    await heard.take()
    return 'counted'
  })
  server.tool('heard', { description: 'Lets the count end.' }, () => {
    heard.give()
    return 'good'
  })
  server.tool('break_off', { description: 'Lets the connection go before it answers.' }, async (_, ctx) => {
    ctx.hangUp(1)
    await heard.take()
    return 'after the break'
  })
}

/** `hold` works until it is cancelled; `holding` answers when it has begun, `released` when it was cancelled. */
function offerHolding(server: Server): void {
  const begun = new Signal()
  const cancelled = new Signal()
  const hold = (_: unknown, ctx: Context): Promise<string> =>
    new Promise((resolve) => {
      ctx.signal.addEventListener('abort', () => {
        cancelled.give()
        resolve('cancelled')
      })
      ctx.progress(1)
      begun.give()
    })
  server.tool('hold', { description: 'Works until it is cancelled.' }, hold)
  server.tool('holding', { description: 'Waits for a hold.' }, async () => `${await begun.take()} begun`)
  server.tool(
    'released',
    { description: 'Waits for a cancelled hold.' },
    async () => `${await cancelled.take()} cancelled`,
  )
}

/** Happens any number of times; `take` waits for a time that nobody has taken yet and gives its number. */
class Signal {
  #given = 0
  #taken = 0
  #wake: (() => void) | undefined

  give(): void {
    this.#given++
    this.#wake?.()
  }

  async take(): Promise<number> {
    if (this.#taken === this.#given) await new Promise<void>((resolve) => (this.#wake = resolve))
    return ++this.#taken
  }
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
