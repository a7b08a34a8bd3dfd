/** Three instances, and one of them killed about every second. */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { proves } from '../../proves.ts'
import type { Job } from './fixtures/build.ts'
import { Customer, type Done } from './fixtures/customer.ts'
import { forEachEngine, LIMIT_MS } from './fixtures/engines.ts'
import { Fleet } from './fixtures/fleet.ts'
import { Scene } from './fixtures/scene.ts'
import { expectDone, expectUnchanged } from './fixtures/verdict.ts'

const STEP_MS = 150
const JOBS = 200
const CUSTOMERS = 40
const LEAST_KILLS = 4
// Starting an instance takes more than all it does before it is killed.
const MOST_KILLS = 8

/** Most have a payment that honours its key; that of every fifth must not be tried again. */
function jobsToDo(): Job[] {
  return Array.from({ length: JOBS }, (_, n) => ({ job: `job ${n}`, stepMs: STEP_MS, retries: n % 5 > 0 }))
}

/** Has all jobs done, so many at a time. */
async function haveAll(customer: Customer, jobs: Job[]): Promise<Done[]> {
  const all: Done[] = []
  const customers = Array.from({ length: CUSTOMERS }, async () => {
    for (let job = jobs.pop(); job !== undefined; job = jobs.pop()) all.push(await customer.have(job))
  })
  await Promise.all(customers)
  return all
}

/** Kills an instance about every second and starts it again, until this is over. Gives how often. */
async function killAtRandom(fleet: Fleet, signal: AbortSignal): Promise<number> {
  const restarts: Promise<unknown>[] = []
  while (restarts.length < MOST_KILLS) {
    await sleep(randomInt(700, 1300), undefined, { signal }).catch(() => {})
    if (signal.aborted) break
    const { names } = fleet
    const name = names[randomInt(3)]
    // Somebody stays, so that a machine on which starting takes long gets on, too.
    if (name !== undefined && names.length > 1) restarts.push(fleet.kill(name).then(() => fleet.start(name)))
  }
  await Promise.all(restarts)
  return restarts.length
}

forEachEngine((engine) => {
  proves(
    'MRTR-38 MRTR-47',
    'end once with the right result when instances are killed at random, and no answer is lost',
    async (test) => {
      const scene = new Scene(test)
      const fleet = new Fleet(scene, await engine.newStore(scene), { engine: { leaseMs: 2000 } })
      await Promise.all(['A', 'B', 'C'].map((name) => fleet.start(name)))
      const customer = new Customer(scene, { urls: fleet.urls, forgives: true, pollMs: 300 })
      const over = new AbortController()
      const having = haveAll(customer, jobsToDo()).finally(() => over.abort())
      const [all, kills] = await Promise.all([having, killAtRandom(fleet, over.signal)])
      expectDone(all, fleet.effects)
      await expectUnchanged(all, fleet)
      expect(kills).toBeGreaterThanOrEqual(LEAST_KILLS)
    },
    LIMIT_MS,
  )
})
