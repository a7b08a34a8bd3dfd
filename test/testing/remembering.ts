/** A tool with a fault that only another process shows: a later round needs what this module remembers. */
import { createServer, type Server } from 'pannier/server'
import type { Overrides } from 'pannier/testing'
import * as z from 'zod'

const drafts = new Map<number, string>()

export function makeServer(overrides: Overrides): Server {
  const about = { description: 'Sends a draft', input: z.object({ id: z.number() }) }
  return createServer({ name: 'remembering', version: '1', ...overrides }).tool('send', about, async ({ id }, ctx) => {
    if (ctx.inputResponses['first'] === undefined) drafts.set(id, 'a draft')
    await ctx.ask('first', { message: 'Send it?', schema: z.object({ ok: z.boolean() }) })
    return `Sent ${drafts.get(id)}`
  })
}
