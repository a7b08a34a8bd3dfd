/** Two instances whose clocks are an hour apart. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'vitest'
import { root } from '../../../scripts/repository.ts'
import { proves } from '../../proves.ts'
import type { Job } from './fixtures/build.ts'
import { Customer, type Done } from './fixtures/customer.ts'
import { type EngineCase, forEachEngine, LIMIT_MS } from './fixtures/engines.ts'
import { Fleet } from './fixtures/fleet.ts'
import { Scene } from './fixtures/scene.ts'
import { expectDone, expectUnchanged } from './fixtures/verdict.ts'

const HOUR_MS = 3_600_000
const clock = pathToFileURL(join(root, 'test/tasks/programs/shiftedClock.ts')).href

/** Whoever compared clocks would find every lease long over, or good for another hour. */
async function startApart(scene: Scene, engine: EngineCase, leaseMs: number): Promise<Fleet> {
  const fleet = new Fleet(scene, await engine.newStore(scene), { engine: { leaseMs }, ttlMs: LIMIT_MS })
  const ahead = { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${clock}`, CLOCK_SHIFT_MS: `${HOUR_MS}` }
  await Promise.all([fleet.start('right'), fleet.start('ahead', {}, ahead)])
  return fleet
}

// No state travels here: one that comes from the future is refused.
async function have(customer: Customer, job: Job): Promise<Done> {
  return customer.finish(job, await customer.create(job))
}

forEachEngine((engine) => {
  proves(
    'MRTR-47',
    'are run by one instance at a time when clocks are an hour apart',
    async (test) => {
      const scene = new Scene(test)
      const fleet = await startApart(scene, engine, 60_000)
      const customer = new Customer(scene, { urls: fleet.urls })
      const jobs = Array.from({ length: 12 }, (_, n) => ({ job: `job ${n}`, stepMs: 100 }))
      const all = await Promise.all(jobs.map((job) => have(customer, job)))
      for (const { job } of jobs) expect(fleet.effects.names(job)).toEqual(['draw', 'cut', 'pay', 'paint'])
      expect(new Set(fleet.effects.all().map(({ by }) => by))).toEqual(new Set(['right', 'ahead']))
      expectDone(all, fleet.effects)
      await expectUnchanged(all, fleet)
    },
    LIMIT_MS,
  )

  proves(
    'MRTR-47',
    'are taken over in time from an instance whose clock is an hour behind or ahead',
    async (test) => {
      const scene = new Scene(test)
      const fleet = await startApart(scene, engine, 1000)
      const customer = new Customer(scene, { urls: fleet.urls, forgives: true })
      // One freezes, and the other takes its job over; then the other freezes.
      const all = [await have(customer, { job: 'first', stepMs: 20, trouble: 'frozen' })]
      const [first = ''] = fleet.frozen
      const second = have(customer, { job: 'second', stepMs: 20, trouble: 'frozen' })
      await scene.until(() => fleet.frozen.length === 2)
      fleet.wake(first)
      all.push(await second)
      expectDone(all, fleet.effects)
      await expectUnchanged(all, fleet)
    },
    LIMIT_MS,
  )
})
