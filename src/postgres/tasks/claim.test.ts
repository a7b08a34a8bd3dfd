/** Which tasks a claim takes, which it leaves, and when a worker claims nothing. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { beforeAll, expect, test, vi } from 'vitest'
import { newDatabase, runSql } from '../../../test/postgres/database.ts'
import { EngineFixture } from '../../../test/postgres/engineFixture.ts'
import { newTask } from '../../../test/tasks/contract/harness.ts'
import { engineSettings } from '../../tasks/internal.ts'
import { databaseOf } from '../database.ts'
import { claimTasks, type PostgresClaimOptions } from './claim.ts'
import { JobQueues } from './queue.ts'
import { ReadyTasks } from './ready.ts'

const fixture = new EngineFixture()
let url: string
beforeAll(async () => void (url = await newDatabase()))

/** An engine without workers at first, and claims on its tasks. */
async function begin(schema: string) {
  const { engine, connection } = await fixture.open({ url, schema })
  const [database, logger] = [databaseOf(connection), () => fixture.logger]
  const jobs = await JobQueues.start(database, 'test', logger)
  fixture.onTestEnd(() => jobs.stop())
  const store = { database, jobs, audience: 'test', logger, settings: engineSettings({}) }
  const ready = new ReadyTasks(store)
  const queue = await jobs.queueOf('chore')
  const create = async () => (await engine.create(newTask())).id
  const claim = async (more: Partial<PostgresClaimOptions> = {}) => {
    const options = { ready, isLostFirst: false, queue, limit: 10, holdMs: 60_000, isRunning: false, pauseMs: 0 }
    const { leased, ...rest } = await claimTasks(store, { ...options, ...more })
    return { ids: leased.map(({ id }) => id), ...rest }
  }
  /** Claims all that is there for a moment, so that it has lost its worker. */
  const lose = async () => {
    await claim({ holdMs: 1 })
    await sleep(20)
  }
  return { engine, create, claim, lose }
}

test('of tasks that have lost their worker one is claimed, alone, and the others wait', async () => {
  const { create, claim, lose } = await begin('suspects')
  const created = [await create(), await create()]
  await lose()
  const first = await claim({ isLostFirst: true })
  expect(first).toMatchObject({ exhausted: [], hasSuspects: true })
  expect(first.ids).toHaveLength(1)
  const second = await claim({ isLostFirst: true, limit: 1 })
  expect(second).toMatchObject({ hasSuspects: false })
  expect(new Set([...first.ids, ...second.ids])).toEqual(new Set(created))
})

test('a task that has lost its worker comes before new ones where that is its turn, and after a trial the new ones do', async () => {
  const { create, claim, lose } = await begin('turns')
  const lost = await create()
  await lose()
  const fresh = [await create(), await create(), await create()]
  expect(await claim({ isLostFirst: true, pauseMs: 500, limit: 1 })).toMatchObject({ ids: [fresh[0]], isFull: true })
  expect(await claim({ limit: 1 })).toMatchObject({ ids: [fresh[1]] })
  expect(await claim({ isLostFirst: true, limit: 1 })).toMatchObject({ ids: [lost], isFull: true })
  expect(await claim({ limit: 1 })).toMatchObject({ ids: [fresh[2]] })
  expect(await claim()).toEqual({ ids: [], exhausted: [], isFull: false, hasSuspects: false })
})

test('a worker claims nothing else while it has a task on trial that has lost its worker, and the rest after that', async () => {
  const { engine, create, lose } = await begin('trial')
  const suspect = await create()
  await lose()
  const begun: string[] = []
  const over = Promise.withResolvers<void>()
  fixture.work(engine, async (lease) => {
    begun.push(lease.id)
    await over.promise
    await lease.end({ status: 'completed', result: {} })
  })
  fixture.onTestEnd(() => over.resolve())
  await vi.waitFor(() => expect(begun).toEqual([suspect]))
  const other = await create()
  await sleep(250) // half of the trial
  expect(begun).toEqual([suspect])
  over.resolve()
  await vi.waitFor(() => expect(begun).toEqual([suspect, other]))
})

test('a worker has stopped when its last claim has', async () => {
  const { engine, create, claim } = await begin('stopping')
  const created = await create()
  const locking = new pg.Client({ connectionString: url })
  await locking.connect()
  fixture.onTestEnd(() => locking.end())
  await locking.query('BEGIN; LOCK TABLE stopping.tasks IN ACCESS EXCLUSIVE MODE')
  const working = engine.work({ tools: ['chore'], concurrency: 1, run: () => Promise.resolve() })
  await expect.poll(() => waitingFor('stopping')).toBeGreaterThan(0)
  let hasStopped = false
  const stopped = working.stop().then(() => (hasStopped = true))
  await sleep(100)
  expect(hasStopped).toBe(false)
  await locking.query('COMMIT')
  await stopped
  expect(await claim()).toMatchObject({ ids: [created] }) // it was given back
})

/** How many statements wait for a lock on tables of the schema. */
async function waitingFor(schema: string): Promise<number> {
  const [row] = await runSql<{ count: number }>(
    url,
    `SELECT count(*)::int AS count FROM pg_locks
     WHERE NOT granted AND relation = '${schema}.tasks'::regclass`,
  )
  return row?.count ?? 0
}
