/**
 * A long computation in steps, each written down in a file that all instances share. A step may be held until the test
 * lets it go, so that a test decides what happens while a call is under way.
 */
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer } from 'pannier/server'
import { z } from 'zod'
import { listenAsInstance } from '../../../examples/demos/listen.ts'

const { INSTANCE: instance, LEDGER: path = '', MAX_IN_FLIGHT: max, HOST: host } = process.env
const server = createServer({
  name: 'jobs',
  version: '1.0.0',
  title: `Instance ${instance}`,
  ...(max !== undefined && { maxInFlight: Number(max) }),
})
const released = new Map<string, () => void>()

const input = z.object({
  job: z.string(),
  steps: z.number(),
  /** The step that is held, and says so to the test. */
  holdAt: z.number().optional(),
  /** How long each other step takes. */
  stepMs: z.number().default(0),
})

server.tool('compute', { description: 'Computes in steps.', input }, async ({ job, steps, holdAt, stepMs }, ctx) => {
  let sum = 0
  for (let step = 1; step <= steps; step++) {
    sum += await ctx.step(`step ${step}`, async () => {
      appendFileSync(path, `${job} ${step} ${instance}\n`)
      await (step === holdAt ? held(job) : sleep(stepMs))
      return step
    })
    await ctx.checkpoint()
  }
  return `${job}: ${sum}`
})

function held(job: string): Promise<void> {
  return new Promise((resolve) => {
    released.set(job, resolve)
    process.send?.({ holding: job })
  })
}

process.on('message', ({ release }: { release: string }) => released.get(release)?.())
// Said when every listener has run, so that it is already so.
process.on('SIGTERM', () => setImmediate(() => process.send?.({ draining: instance })))

if (host === 'stdio') {
  process.send?.({ url: 'stdio:' })
  await server.stdio()
} else {
  await listenAsInstance(server)
}
