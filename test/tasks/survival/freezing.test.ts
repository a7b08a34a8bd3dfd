/** Instances that are frozen between an effect and its commit, and wake when others have taken over. */
import { expect } from 'vitest'
import { proves } from '../../proves.ts'
import type { Job } from './build.ts'
import { Customer } from './customer.ts'
import { forEachEngine, LIMIT_MS } from './engines.ts'
import { Fleet } from './fleet.ts'
import { Scene } from './scene.ts'
import { expectDone, expectUnchanged, UNSETTLED } from './verdict.ts'

const cutting: Job = { job: 'cutting', stepMs: 400, trouble: 'frozen' }
const paying: Job = { job: 'paying', stepMs: 50, trouble: 'frozen paying' }
const careful: Job = { job: 'paying carefully', stepMs: 50, trouble: 'frozen paying', retries: false }

function others(name: string): Job[] {
  return Array.from({ length: 8 }, (_, n) => ({ job: `${name} ${n}`, stepMs: 50 }))
}

forEachEngine((engine) => {
  proves(
    'MRTR-47',
    'are taken over from a frozen instance, which changes nothing any more when it wakes',
    async (test) => {
      const scene = new Scene(test)
      const fleet = new Fleet(scene, await engine.newPlace(scene), { engine: { leaseMs: 1500 } })
      await Promise.all(['A', 'B', 'C'].map((name) => fleet.start(name)))
      const customer = new Customer(scene, { urls: fleet.urls })
      const have = (jobs: readonly Job[]) => Promise.all(jobs.map((job) => customer.have(job)))

      // One wakes while another is at the same job and further. What it has cut comes too late.
      const having = have([cutting, ...others('first')])
      await scene.until(() => fleet.effects.names(cutting.job).includes('pay'))
      for (const name of fleet.frozen) fleet.wake(name)
      const all = await having
      const late = fleet.effects.of(cutting.job).find(({ name }) => name === 'cut')
      expect(all[0]?.text).not.toContain(late?.value)

      // These wake when all is over. Each froze one instance, or both the same.
      all.push(...(await have([paying, careful, ...others('second')])))
      expect(all.find(({ job }) => job === careful)?.text).toMatch(UNSETTLED)
      while (![cutting, paying, careful].every(({ job }) => fleet.effects.names(job).includes('woken'))) {
        for (const name of fleet.names) fleet.wake(name)
        await scene.sleep(20)
      }

      all.push(...(await have(others('third'))))
      expectDone(all, fleet.effects)
      await expectUnchanged(all, fleet)
    },
    LIMIT_MS,
  )
})
