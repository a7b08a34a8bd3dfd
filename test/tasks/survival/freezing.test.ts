/** Instances that are frozen between an effect and its commit, and wake when others have taken over. */
import { expect } from 'vitest'
import { proves } from '../../proves.ts'
import type { Job } from './fixtures/build.ts'
import { Customer } from './fixtures/customer.ts'
import type { Effects } from './fixtures/effects.ts'
import { forEachEngine, LIMIT_MS } from './fixtures/engines.ts'
import { Fleet } from './fixtures/fleet.ts'
import { Scene } from './fixtures/scene.ts'
import { expectDone, expectUnchanged, UNSETTLED } from './fixtures/verdict.ts'

const paying: Job = { job: 'paying', stepMs: 50, trouble: 'frozen paying' }
const careful: Job = { job: 'paying carefully', stepMs: 50, trouble: 'frozen paying', retries: false }

function others(name: string): Job[] {
  return Array.from({ length: 6 }, (_, n) => ({ job: `${name} ${n}`, stepMs: 50 }))
}

/** Whether another instance than the one that was frozen has done this. */
function isTakenOver(effects: Effects, job: string, work: string): boolean {
  const did = effects.of(job)
  const frozen = did.find(({ name }) => name === 'frozen')
  return frozen !== undefined && did.some(({ name, by }) => name === work && by !== frozen.by)
}

/**
 * Wakes all instances until each of these jobs has gone on where it was frozen: on a busy machine others may have taken it
 * over before its instance stops.
 */
async function wakeAll(scene: Scene, fleet: Fleet, jobs: readonly string[]): Promise<void> {
  for (;;) {
    const isOver = jobs.every((job) => fleet.effects.names(job).includes('woken'))
    for (const name of fleet.names) fleet.wake(name)
    if (isOver) return
    await scene.sleep(20)
  }
}

forEachEngine((engine) => {
  proves(
    'MRTR-47',
    'are taken over from a frozen instance, which changes nothing any more when it wakes',
    async (test) => {
      const scene = new Scene(test)
      const fleet = new Fleet(scene, await engine.newStore(scene), { engine: { leaseMs: 1000 } })
      const { effects } = fleet
      await Promise.all(['A', 'B', 'C'].map((name) => fleet.start(name)))
      const customer = new Customer(scene, { urls: fleet.urls, forgives: true })
      const have = (jobs: readonly Job[]) => Promise.all(jobs.map((job) => customer.have(job)))
      const all = []

      // One wakes while another is about to commit the same work, or has just done so: its own comes too late.
      for (const work of ['cut', 'pay']) {
        const job = `woken at ${work}`
        const having = have([{ job, stepMs: 400, trouble: 'frozen' }, ...others(job)])
        await Promise.race([having, scene.until(() => isTakenOver(effects, job, work))])
        await wakeAll(scene, fleet, [job])
        const done = await having
        const late = effects.of(job).find(({ name }) => name === 'cut')
        expect(done[0]?.text).not.toContain(late?.value)
        all.push(...done)
      }

      // These wake when all is over. Each froze one instance, or both the same; or one was frozen by the other after it
      // had claimed its payment, and never began it.
      all.push(...(await have([paying, careful, ...others('paid')])))
      expect(all.find(({ job }) => job === careful)?.text).toMatch(UNSETTLED)
      const begun = [paying, careful].map(({ job }) => job).filter((job) => effects.names(job).includes('paying'))
      await wakeAll(scene, fleet, begun)

      all.push(...(await have(others('after all'))))
      expectDone(all, effects)
      await expectUnchanged(all, fleet)
    },
    LIMIT_MS,
  )
})
