/**
 * A job of four pieces of work and two questions, which leaves a trace of all it does. What it draws and cuts has a number
 * that is a matter of chance, and the questions tell it: it shows when work whose result was seen is done again.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from 'pannier/server'
import { z } from 'zod'
import type { Effects } from './effects.ts'

export const jobInput = z.object({
  job: z.string(),
  /** How long each piece of work takes at least, and less than twice as long. */
  stepMs: z.number(),
  /** Whether a payment that may have been made is tried again: only if it honours its key. */
  retries: z.boolean().default(true),
  /** What goes wrong between an effect and its commit, the first time. */
  trouble: z.enum(['frozen', 'frozen paying', 'dismissed', 'stuck', 'refused']).optional(),
})

export type Job = z.input<typeof jobInput>

export interface Bench {
  readonly effects: Effects
  /** The name of this instance. */
  readonly instance: string
}

const sizeSchema = z.object({ size: z.number() })
const colourSchema = z.object({ colour: z.string() })

/** Everything that happens in the task, when it is known what it is made of. */
export async function build(job: z.output<typeof jobInput>, material: string, ctx: Context, bench: Bench) {
  const drawn = await ctx.step('draw', () => work(job, 'draw', bench, `drawing ${randomInt(1e9)}`))
  ctx.progress(1, 4, 'It is drawn.')
  const { size } = await ctx.ask('size', { message: `How large is ${drawn}?`, schema: sizeSchema })
  const cut = await ctx.step('cut', async () => {
    const piece = await work(job, 'cut', bench, `${drawn}, piece ${randomInt(1e9)} of size ${size}`)
    if (job.trouble !== 'frozen paying') await suffer(job, ctx, bench)
    return piece
  })
  await ctx.checkpoint()
  const receipt = await ctx.once('pay', (key) => pay(job, key, ctx, bench), { retryUnsettled: job.retries })
  const { colour } = await ctx.ask('colour', { message: `Which colour has ${cut}?`, schema: colourSchema })
  return ctx.step('paint', () => work(job, 'paint', bench, `${job.job}: ${material}, ${cut}, ${colour}, ${receipt}`))
}

async function work({ job, stepMs }: Job, name: string, bench: Bench, value: string): Promise<string> {
  await sleep(stepMs / 2 + Math.random() * stepMs)
  bench.effects.add({ job, name, by: bench.instance, value })
  await sleep(stepMs / 2)
  return value
}

async function pay(job: Job, key: string, ctx: Context, bench: Bench): Promise<string> {
  if (job.trouble === 'refused' && bench.effects.isFirst(`refusal ${job.job}`)) throw new Error('The bank is closed.')
  await work(job, 'pay', bench, key)
  bench.effects.charge(job.job, key)
  if (job.trouble === 'frozen paying') await suffer(job, ctx, bench)
  return 'paid'
}

/** Tells the parent process what is about to go wrong, and lets it. */
async function suffer({ job, trouble }: Job, ctx: Context, { effects, instance }: Bench): Promise<void> {
  if (trouble === undefined || trouble === 'refused' || !effects.isFirst(`trouble ${job}`)) return
  effects.add({ job, name: trouble, by: instance })
  await new Promise((resolve) => process.send?.({ job, trouble }, resolve))
  switch (trouble) {
    case 'frozen':
    case 'frozen paying':
      process.kill(process.pid, 'SIGSTOP')
      effects.add({ job, name: 'woken', by: instance })
      return
    case 'dismissed':
      await once(process, 'SIGTERM')
      return
    case 'stuck':
      await new Promise((_, reject) => {
        ctx.signal.addEventListener('abort', () => reject(new Error('Its time is up.')), { once: true })
      }).finally(() => effects.add({ job, name: 'freed', by: instance }))
  }
}
