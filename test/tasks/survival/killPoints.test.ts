/**
 * Instances that are killed at a named point, before or after one commit each. What was committed is not done again;
 * what was not is, and that is all.
 */
import { once } from 'node:events'
import { expect } from 'vitest'
import { isLong } from '../../amount.ts'
import { proves } from '../../proves.ts'
import type { Job } from './fixtures/build.ts'
import { Customer, type Done } from './fixtures/customer.ts'
import { type EngineCase, forEachEngine, LIMIT_MS } from './fixtures/engines.ts'
import { Fleet } from './fixtures/fleet.ts'
import type { KillPoint } from './fixtures/killingEngine.ts'
import { Scene } from './fixtures/scene.ts'
import { expectUnchanged, UNSETTLED } from './fixtures/verdict.ts'

interface Case {
  readonly point: KillPoint
  readonly job?: Partial<Job>
  /** What is done, in order. @default everything once */
  readonly does?: string
  /** @default 'right' */
  readonly ends?: 'right' | 'unsettled' | 'cancelled'
}

const cases: readonly Case[] = [
  { point: 'before create' },
  { point: 'after create' },
  { point: 'after take' },
  { point: 'before step draw', does: 'draw draw cut pay paint' },
  { point: 'after step draw' },
  { point: 'before note' },
  { point: 'after note' },
  { point: 'before ask' },
  { point: 'after ask' },
  { point: 'before answer' },
  { point: 'after answer' },
  { point: 'before giveBack', job: { trouble: 'dismissed' }, does: 'draw cut dismissed pay paint' },
  { point: 'after giveBack', job: { trouble: 'dismissed' }, does: 'draw cut dismissed pay paint' },
  { point: 'before claim' },
  { point: 'after claim' },
  { point: 'after claim', job: { retries: false }, does: 'draw cut', ends: 'unsettled' },
  { point: 'before unclaim', job: { trouble: 'refused' } },
  { point: 'after unclaim', job: { trouble: 'refused' } },
  { point: 'before step pay', does: 'draw cut pay pay paint' },
  { point: 'before step pay', job: { retries: false }, does: 'draw cut pay', ends: 'unsettled' },
  { point: 'after step pay' },
  { point: 'before end' },
  { point: 'after end' },
  { point: 'before cancel', does: 'draw', ends: 'cancelled' },
  { point: 'after cancel', does: 'draw', ends: 'cancelled' },
]

const HEIR = 'heir'
// How many instances are on their way to their end at a time.
const LANES = 3

/** A job whose instance is killed on the way. It has a tool of its own, so that nobody else runs it before. */
class Fate {
  readonly order: string
  readonly #case: Case
  readonly #job: Job
  readonly #fleet: Fleet
  readonly #customer: Customer

  constructor(fate: Case, n: number, fleet: Fleet, scene: Scene) {
    this.order = `order-${n}`
    this.#case = fate
    this.#job = { job: `job ${n}`, stepMs: 5, ...fate.job }
    this.#fleet = fleet
    this.#customer = new Customer(scene, { urls: () => this.#urls(), pollMs: 50 })
  }

  /** Lives until its instance is dead; gives the rest of its life. */
  async die(): Promise<{ rest: Promise<Done> }> {
    const { child, exited } = await this.#fleet.start(this.order, { orders: [this.order], killAt: this.#case.point })
    if (this.#job.trouble === 'dismissed') void once(child, 'message').then(() => child.kill('SIGTERM'))
    const rest = this.#live()
    await Promise.race([exited, rest.catch(() => {})])
    expect(child.signalCode, this.#case.point).toBe('SIGKILL')
    return { rest }
  }

  expectRight({ text, wanted }: Done): void {
    const { point, does = 'draw cut pay paint', ends = 'right' } = this.#case
    const { effects } = this.#fleet
    const { job } = this.#job
    expect([point, effects.names(job).join(' ')]).toEqual([point, does])
    expect([point, effects.charges(job)]).toEqual([point, does.includes('pay') ? 1 : 0])
    if (ends === 'unsettled') expect(text).toMatch(UNSETTLED)
    else expect(text).toBe(ends === 'right' ? wanted : ends)
  }

  async #live(): Promise<Done> {
    const taskId = await this.#customer.order(this.#job, this.order)
    if (this.#case.ends === 'cancelled') {
      await this.#customer.until(taskId, 'input_required')
      await this.#customer.send('tasks/cancel', { taskId })
    }
    return this.#customer.finish(this.#job, taskId)
  }

  #urls(): string[] {
    const name = [this.order, HEIR].find((candidate) => this.#fleet.names.includes(candidate))
    return name === undefined ? [] : [this.#fleet.get(name).url]
  }
}

/** The long form tries each case over each engine, the short form each over one of them. */
function casesOver({ name }: EngineCase): readonly Case[] {
  return isLong ? cases : cases.filter((_, n) => (n % 4 === 0 || n % 4 === 3) === (name === 'in PostgreSQL'))
}

/** Runs all of them, so many at a time; gives what they gave, in order. */
async function inLanes<T, R>(all: readonly T[], run: (each: T) => Promise<R>): Promise<R[]> {
  const given: R[] = []
  const rest = all.entries()
  const lane = async () => {
    for (const [n, each] of rest) given[n] = await run(each)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return given
}

forEachEngine((engine) => {
  proves(
    'MRTR-47',
    'go on from what was committed when their instance is killed before or after any commit',
    async (test) => {
      const scene = new Scene(test)
      const fleet = new Fleet(scene, await engine.newStore(scene), { engine: { leaseMs: 3000 } })
      const fates = casesOver(engine).map((fate, n) => new Fate(fate, n, fleet, scene))
      const dead = await inLanes(fates, (fate) => fate.die())
      await fleet.start(HEIR, { orders: fates.map(({ order }) => order) })
      const all = await Promise.all(dead.map(({ rest }) => rest))
      for (const [n, fate] of fates.entries()) fate.expectRight(all[n]!)
      await expectUnchanged(all, fleet)
    },
    LIMIT_MS,
  )
})
