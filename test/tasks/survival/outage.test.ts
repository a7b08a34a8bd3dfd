/** A store that nobody can use for a while. */
import { expect } from 'vitest'
import { amount } from '../../amount.ts'
import { proves } from '../../proves.ts'
import type { Job } from './fixtures/build.ts'
import { Customer } from './fixtures/customer.ts'
import { forEachEngine, LIMIT_MS } from './fixtures/engines.ts'
import { Fleet } from './fixtures/fleet.ts'
import { Scene } from './fixtures/scene.ts'
import { expectDone, expectUnchanged } from './fixtures/verdict.ts'

// Longer than anybody waits for a lock.
const AWAY_MS = 6000

const jobs: readonly Job[] = Array.from({ length: amount(12, 40) }, (_, n) => {
  return { job: `job ${n}`, stepMs: 150, retries: n % 4 !== 0 }
})

forEachEngine((engine) => {
  proves(
    'MRTR-47',
    'wait for their store when it is away, and go on when it is back',
    async (test) => {
      const scene = new Scene(test)
      const store = await engine.newFragileStore(scene)
      const fleet = new Fleet(scene, store.place)
      // One loses its tasks while the store is away, the other comes back in time.
      const instances = await Promise.all([
        fleet.start('brief', { engine: { leaseMs: 1500 } }),
        fleet.start('patient', { engine: { leaseMs: 15_000 } }),
      ])
      const customer = new Customer(scene, { urls: fleet.urls, forgives: true })
      const having = Promise.all(jobs.map((job) => customer.have(job)))
      await scene.until(() => fleet.effects.all().length >= jobs.length)
      await store.takeAway()
      const painted = fleet.effects.all().filter(({ name }) => name === 'paint')
      expect(painted.length).toBeLessThan(jobs.length)
      await scene.sleep(AWAY_MS)
      await store.giveBack()
      const all = await having
      expectDone(all, fleet.effects)
      await expectUnchanged(all, fleet)
      for (const { child, errors } of instances) expect(child.exitCode, errors()).toBe(null)
    },
    LIMIT_MS,
  )
})
