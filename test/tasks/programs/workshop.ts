/**
 * An instance of a server whose jobs are tasks, to be killed, frozen and told to end. `WORKSHOP` says, as JSON, where the
 * tasks are and what happens to this instance.
 */
import { createServer } from 'pannier/server'
import { type EngineOptions, createTasks } from 'pannier/tasks'
import { z } from 'zod'
import { build, jobInput } from '../survival/fixtures/build.ts'
import { Effects } from '../survival/fixtures/effects.ts'
import { killingEngine, type KillPoint } from '../survival/fixtures/killingEngine.ts'
import { engineAt, type StoreLocation } from '../survival/fixtures/stores.ts'

export interface WorkshopOptions {
  readonly place: StoreLocation
  /** Where effects are written. */
  readonly folder: string
  readonly engine?: EngineOptions
  readonly concurrency?: number
  readonly ttlMs?: number
  /** Names of the tool that begins with a question and then becomes a task: who has it runs its tasks. @default `order` */
  readonly orders?: readonly string[]
  /** Where this instance ends. */
  readonly killAt?: KillPoint
  /** How long it may go on once it is told to end. */
  readonly drainMs?: number
}

const { INSTANCE: instance = '', WORKSHOP = '{}' } = process.env
const options = JSON.parse(WORKSHOP) as WorkshopOptions
const { concurrency = 8, ttlMs = null, orders = ['order'], killAt, drainMs = 1000 } = options

const engine = engineAt(options.place, options.engine)
const tasks = createTasks(killAt === undefined ? engine : killingEngine(engine, killAt), {
  concurrency,
  ttlMs,
  pollMs: 100,
})
const server = createServer({ name: 'workshop', version: '1.0.0', tasks })
const bench = { effects: new Effects(options.folder), instance }

const materialForm = { message: 'What is it made of?', schema: z.object({ material: z.string() }) }

for (const order of orders) {
  server.tool(
    order,
    { description: 'Takes an order, then builds.', input: jobInput, task: 'required', startsAs: 'call' },
    async (job, ctx) => {
      const { material } = await ctx.ask('material', materialForm)
      return build(job, material, await ctx.detach(), bench)
    },
  )
}

server.tool('build', { description: 'Builds of oak.', input: jobInput, task: 'required' }, (job, ctx) => {
  return build(job, 'oak', ctx, bench)
})

process.on('disconnect', () => process.exit())
process.on('SIGTERM', () => {
  void server.drain({ deadlineMs: drainMs }).then(() => process.exit(0))
  process.send?.({ draining: true })
})
const { url } = await server.listen({ drainOnTerm: false })
process.send?.({ url })
