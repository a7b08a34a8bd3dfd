import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { newTask } from '../../../test/tasks/contract/harness.ts'
import { newSqliteStore, type SqliteTestStore } from '../../../test/tasks/contract/sqliteStore.ts'
import { engineSettings, type Lease } from '../engine.ts'
import { FailureLog } from './failureLog.ts'
import type { Heartbeat } from './heartbeat.ts'
import { identityOf } from './processIdentity.ts'
import { Tables } from './rows/tables.ts'
import { openTaskFile } from './schema.ts'
import { SqliteWorker } from './worker.ts'
import { WriteQueue } from './writeQueue.ts'

const LEASE_MS = 100
let nowMs = 0
let store: SqliteTestStore
let tables: Tables
let worker: SqliteWorker
let isLocked = false
const errors: unknown[] = []
const infos: unknown[] = []

beforeEach(async () => {
  nowMs = 1_000_000
  isLocked = false
  store = await newSqliteStore()
  const database = openTaskFile(store.path)
  const writes = new WriteQueue(database, { onCommit() {} })
  const write = writes.write.bind(writes)
  vi.spyOn(writes, 'write').mockImplementation((run) => (isLocked ? Promise.reject(new Error('locked')) : write(run)))
  const logger = {
    debug() {},
    warn() {},
    info: (fields: object) => void infos.push(fields),
    error: (fields: object) => void errors.push(fields),
  }
  const settings = engineSettings({ leaseMs: LEASE_MS })
  tables = new Tables({ database, writes, audience: '"a"', settings, now: () => nowMs, logger: () => logger })
  const heartbeat = { workerId: 'w', isAlive: () => true } as unknown as Heartbeat
  tables.workers.add({ id: 'w', process: identityOf(process.pid), leaseMs: LEASE_MS })
  worker = new SqliteWorker(tables, heartbeat, new FailureLog(() => logger))
})

afterEach(async () => {
  worker.close()
  await tables.store.writes.close()
  tables.store.database.close()
  await store.remove()
  errors.length = 0
  infos.length = 0
})

/** Adds a task; one with `crashes` is a suspect, whose trial lasts a minute. */
async function add({ crashes = 0, ttlMs = 60_000 } = {}): Promise<string> {
  const task = newTask({ ttlMs })
  await tables.store.writes.write(() => void tables.newTasks.add(tables.newTasks.prepare(task)))
  store.sql(`UPDATE tasks SET crashes = ${crashes}, retry_at = 0 WHERE number = (SELECT max(number) FROM tasks)`)
  return task.id
}

const holders = () => store.sql('SELECT worker FROM tasks ORDER BY number').map((row) => row['worker'])

/** Runs that last until the test ends them. */
function running(concurrency = 4) {
  const runs: { lease: Lease; end: () => Promise<void>; abandon: () => void }[] = []
  const run = (lease: Lease): Promise<void> =>
    new Promise((resolve) => {
      const end = () => lease.end({ status: 'completed', result: {} }).then(resolve)
      runs.push({ lease, end, abandon: resolve })
    })
  return { runs, working: worker.work({ tools: ['chore'], concurrency, run }) }
}

test('a run whose task expires now is aborted, and one with a millisecond left is not', async () => {
  await add({ ttlMs: 1000 })
  const { runs } = running()
  await vi.waitFor(() => expect(runs).toHaveLength(1))
  nowMs += 999
  worker.expire()
  expect(runs[0]?.lease.signal.aborted).toBe(false)
  nowMs += 1
  worker.expire()
  expect(runs[0]?.lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
})

test('a suspect that is alone is run at once', async () => {
  await add({ crashes: 20 })
  const { runs } = running()
  await vi.waitFor(() => expect(runs).toHaveLength(1), 5000)
  await runs[0]?.end()
})

test('a suspect waits for the other runs of its worker to end', async () => {
  const first = await add()
  const { runs } = running()
  await vi.waitFor(() => expect(runs.map(({ lease }) => lease.id)).toEqual([first]))
  const suspect = await add({ crashes: 20 })
  worker.wake()
  await vi.waitFor(() => expect(holders()).toEqual(['w', 'w']))
  expect(runs).toHaveLength(1)
  await runs[0]?.end()
  await vi.waitFor(() => expect(runs[1]?.lease.id).toBe(suspect))
  await runs[1]?.end()
})

test('a suspect whose trial cannot be recorded is not run, and given back', async () => {
  const recorded = vi.spyOn(tables.leases, 'setOnTrial').mockImplementationOnce(() => {
    throw new Error('The file is locked.')
  })
  const suspect = await add({ crashes: 20 })
  const { runs } = running()
  await vi.waitFor(() => expect(recorded).toHaveBeenCalled())
  await vi.waitFor(() => expect(runs.map(({ lease }) => lease.id)).toEqual([suspect]))
  expect(recorded).toHaveBeenCalledTimes(2)
  await runs[0]?.end()
})

test('a suspect that was not run yet when its worker stops is given back', async () => {
  await add()
  const { runs, working } = running()
  await vi.waitFor(() => expect(runs).toHaveLength(1))
  await add({ crashes: 20 })
  worker.wake()
  await vi.waitFor(() => expect(holders()).toEqual(['w', 'w']))
  const stopped = working.stop()
  await vi.waitFor(() => expect(holders()).toEqual(['w', null]))
  await runs[0]?.end()
  await stopped
  expect([runs.length, store.sql('SELECT losses FROM tasks').map(({ losses }) => losses)]).toEqual([1, [0, 0]])
})

test('a run that returns without having ended its lease loses it after half a lease, also when the first write fails', async () => {
  await add()
  const { runs } = running(1)
  await vi.waitFor(() => expect(runs).toHaveLength(1))
  isLocked = true
  runs[0]?.abandon()
  await new Promise((resolve) => setTimeout(resolve, LEASE_MS))
  expect(holders()).toEqual(['w'])
  isLocked = false
  await vi.waitFor(() => expect(runs).toHaveLength(2))
  expect(store.sql('SELECT losses FROM tasks')).toMatchObject([{ losses: 1 }])
  expect(runs[0]?.lease.isOver()).toBe(true)
  await runs[1]?.end()
})

test('a claim that fails is logged, and tried again after a second', async () => {
  await add()
  isLocked = true
  const { runs } = running()
  await vi.waitFor(() => expect(errors).toMatchObject([{ work: 'claim tasks', err: { message: 'locked' } }]))
  isLocked = false
  await vi.waitFor(() => expect(runs).toHaveLength(1))
  await vi.waitFor(() => expect(infos).toEqual([{ work: 'claim tasks' }]))
  await runs[0]?.end()
})

test('a run that throws is logged once, and leaves its slot to the next', async () => {
  await add()
  const next = await add()
  const ran: string[] = []
  const run = async (lease: Lease): Promise<void> => {
    ran.push(lease.id)
    if (lease.id === next) return lease.end({ status: 'completed', result: {} })
    throw new Error('broken')
  }
  worker.work({ tools: ['chore'], concurrency: 1, run })
  await vi.waitFor(() => expect(ran).toContain(next))
  expect(errors).toMatchObject([{ work: 'run tasks', err: { message: 'broken' } }])
})

test('runs that another worker has taken are aborted when that is seen, and others go on', async () => {
  const [taken] = [await add(), await add()]
  const { runs } = running()
  await vi.waitFor(() => expect(runs).toHaveLength(2))
  store.sql(`UPDATE tasks SET worker = 'other', epoch = epoch + 1 WHERE number = 1`)
  worker.check()
  const aborted = runs.filter(({ lease }) => lease.signal.aborted).map(({ lease }) => lease.id)
  expect(aborted).toEqual([taken])
  await runs.find(({ lease }) => lease.id !== taken)?.end()
})

test('a tool that is served later is run from then on', async () => {
  await add()
  const ran: string[] = []
  const run = async (lease: Lease): Promise<void> => {
    ran.push(lease.tool)
    await lease.end({ status: 'completed', result: {} })
  }
  const working = worker.work({ tools: ['other'], concurrency: 1, run })
  working.serve('chore')
  await vi.waitFor(() => expect(ran).toEqual(['chore']))
})
