/** A tool "work" under exercise, with whatever handler a test gives it. */
import { type Context, createServer, type Server, type ServerOptions } from 'pannier/server'
import { exercise, type ExerciseOptions, type MakeServer, recorder } from 'pannier/testing'
import * as z from 'zod'

export const effect = recorder()
export const confirmation = z.object({ ok: z.boolean() })
export const ask = (ctx: Context, key: string, message = `${key}?`) => ctx.ask(key, { message, schema: confirmation })
export const answers = { first: { ok: true }, second: { ok: true } }
export const call = { tool: 'work', arguments: { id: 7 } }

export type Handler = (args: { id: number }, ctx: Context) => Promise<string>

export function withTool(handler: Handler, overrides: Partial<ServerOptions>): Server {
  const input = z.object({ id: z.number() })
  const about = { description: 'Works', input }
  return createServer({ name: 'exercised', version: '1', ...overrides }).tool('work', about, handler)
}

/** A handler that keeps nothing but its journal. */
export const always =
  (handler: Handler): MakeServer =>
  (overrides) =>
    withTool(handler, overrides)

export async function codesOf(makeServer: MakeServer, options?: ExerciseOptions): Promise<string[]> {
  const { findings } = await exercise(makeServer, call, answers, options)
  return findings.map(({ code }) => code)
}

export const sound: Handler = async ({ id }, ctx) => {
  await ask(ctx, 'first')
  const link = await ctx.step('link', () => {
    effect('link', id)
    return `link-${id}`
  })
  await ask(ctx, 'second', `Keep ${link}?`)
  await ctx.once('charge', () => effect('charge', id))
  return `Done with ${link}.`
}
