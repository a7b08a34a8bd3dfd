/** An instance that is told to end while it runs tasks. */
import { once } from 'node:events'
import { expect } from 'vitest'
import { proves } from '../../proves.ts'
import type { Job } from './fixtures/build.ts'
import { Customer } from './fixtures/customer.ts'
import { forEachEngine, LIMIT_MS } from './fixtures/engines.ts'
import { Fleet } from './fixtures/fleet.ts'
import { Scene } from './fixtures/scene.ts'
import { expectDone, expectUnchanged } from './fixtures/verdict.ts'

// Nobody waits for a lease to end.
const settings = { engine: { leaseMs: 600_000 }, drainMs: 3000 }

// They come to a checkpoint when their instance is told to end.
const moving: readonly Job[] = ['first', 'second', 'third'].map((job) => {
  return { job, stepMs: 20, trouble: 'dismissed', retries: false }
})
// It gets nowhere until it is stopped.
const stuck: Job = { job: 'stuck', stepMs: 20, trouble: 'stuck', retries: false }
// It comes when the instance is on its way out.
const late: Job = { job: 'late', stepMs: 20 }

forEachEngine((engine) => {
  proves(
    'MRTR-47',
    'are handed over at their checkpoints when an instance drains, and the rest is given back at its deadline',
    async (test) => {
      const scene = new Scene(test)
      const fleet = new Fleet(scene, await engine.newStore(scene), settings)
      const { effects } = fleet
      const leaving = await fleet.start('leaving')
      const customer = new Customer(scene, { urls: fleet.urls })
      const having = [...moving, stuck].map((job) => customer.have(job))
      await scene.until(() => effects.all().filter(({ name }) => name === 'dismissed' || name === 'stuck').length === 4)
      await fleet.start('staying')
      const exited = leaving.end('SIGTERM')
      await once(leaving.child, 'message')
      const all = await Promise.all([...having, customer.have(late)])
      expect(await exited).toEqual({ code: 0, signal: null })

      const did = effects.all().map(({ job, name, by }) => `${job}: ${name} by ${by}`)
      const freed = did.indexOf('stuck: freed by leaving')
      for (const { job } of moving) {
        expect(effects.names(job)).toEqual(['draw', 'cut', 'dismissed', 'pay', 'paint'])
        expect(did.slice(0, freed)).toContain(`${job}: pay by staying`)
      }
      expect(effects.names('stuck')).toEqual(['draw', 'cut', 'stuck', 'freed', 'cut', 'pay', 'paint'])
      expect(new Set(effects.of('late').map(({ by }) => by))).toEqual(new Set(['staying']))
      expectDone(all, effects)
      await expectUnchanged(all, fleet)
    },
    LIMIT_MS,
  )
})
