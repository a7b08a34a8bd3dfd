/** What the layers are tried with: everything of the interop server, and tools whose work begins after an answer. */
import type { Server } from 'pannier/server'
import { z } from 'zod'
import { offer } from '../interop/offer.ts'

const nameForm = { message: 'Who is there?', schema: z.object({ name: z.string() }) }

export function offerAll(server: Server): Server {
  offer(server)
  const heard = new Gate()
  const begun = new Gate()
  const ended = new Gate()
  server.tool('ask_then_count', { description: 'Asks, then tells how far it is.' }, async (_, ctx) => {
    const { name } = await ctx.ask('name', nameForm)
    for (const step of [1, 2, 3]) ctx.progress(step, 3, `${name} ${step}`)
    await heard.passed()
    return `counted for ${name}`
  })
  server.tool('heard_count', { description: 'Lets the count end.' }, () => {
    heard.pass()
    return 'good'
  })
  server.tool('ask_then_hold', { description: 'Asks, then works until it is cancelled.' }, async (_, ctx) => {
    await ctx.ask('name', nameForm)
    ctx.progress(1)
    begun.pass()
    await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
    ended.pass()
    return 'cancelled'
  })
  server.tool('hold_begun', { description: 'Waits until a hold works.' }, async () => {
    await begun.passed()
    return 'begun'
  })
  server.tool('hold_ended', { description: 'Waits until a hold was cancelled.' }, async () => {
    await ended.passed()
    return 'ended'
  })
  server.tool('relay', { description: 'Asks twice.', input: z.object({ n: z.number() }) }, async ({ n }, ctx) => {
    const ask = (key: string, message: string) => ctx.ask(key, { message, schema: z.object({ word: z.string() }) })
    const first = await ask('first', `first of ${n}`)
    const second = await ask('second', `second of ${n} after ${first.word}`)
    return `${n}: ${first.word}, ${second.word}`
  })
  return server
}

/** Each pass lets one wait through, in any order. */
class Gate {
  #passes = 0
  readonly #waiting: (() => void)[] = []

  pass(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#passes++
    else next()
  }

  async passed(): Promise<void> {
    if (this.#passes > 0) this.#passes--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}
