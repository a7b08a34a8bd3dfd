import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { engineSettings } from '../engine.ts'
import { WriteQueue } from './writeQueue.ts'
import { Heartbeat } from './heartbeat.ts'
import { Tables } from './rows/tables.ts'
import { openTaskFile } from './schema.ts'
import { newSqliteStore } from '../../../test/tasks/contract/sqliteStore.ts'

const LEASE_MS = 15_000
const { path, sql, remove } = await newSqliteStore()
afterAll(remove)

// The watches of all processes here: a test moves them on.
let clockMs = 0
beforeEach(() => {
  clockMs = 1_000_000
  vi.spyOn(performance, 'now').mockImplementation(() => clockMs)
})

const opened: { close(): void }[] = []
afterEach(() => {
  vi.restoreAllMocks()
  for (const database of opened.splice(0)) database.close()
  sql('DELETE FROM workers')
})

/** A worker that has not joined yet, as in a process of its own. */
function newWorker() {
  const database = openTaskFile(path)
  opened.push(database)
  const logger = () => ({ debug() {}, info() {}, warn() {}, error() {} })
  const settings = engineSettings({ leaseMs: LEASE_MS })
  const writes = new WriteQueue(database, { onCommit() {} })
  const tables = new Tables({ database, writes, audience: '"a"', settings, now: Date.now, logger })
  const events = { onLost: vi.fn<() => void>(), onReady: vi.fn<() => void>() }
  return { heartbeat: new Heartbeat(tables, events), events, isLocked: () => writes.isLocked }
}

const known = () => sql('SELECT id FROM workers').map(({ id }) => id)

/** Lets time pass as it does for a process that runs. */
async function pass(ms: number, { heartbeat }: ReturnType<typeof newWorker>): Promise<void> {
  for (const end = clockMs + ms; clockMs < end; clockMs += 500) await heartbeat.reclaim()
  await heartbeat.reclaim()
}

test('a worker that is silent for its lease is reclaimed by one that has observed it that long', async () => {
  const [silent, observer] = [newWorker(), newWorker()]
  await silent.heartbeat.register()
  await observer.heartbeat.register()
  await observer.heartbeat.observe()
  observer.events.onReady.mockClear()
  await pass(LEASE_MS - 500, observer)
  expect(known()).toContain(silent.heartbeat.workerId)
  await pass(500, observer)
  expect(known()).toEqual([observer.heartbeat.workerId])
  expect(observer.events.onReady).toHaveBeenCalledTimes(1)
})

test('while another process has locked the file, nobody can send a heartbeat, and nobody is reclaimed', async () => {
  const [silent, observer] = [newWorker(), newWorker()]
  await silent.heartbeat.register()
  await observer.heartbeat.register()
  await observer.heartbeat.observe()
  const holder = new DatabaseSync(path)
  opened.push(holder)
  holder.exec('BEGIN IMMEDIATE')
  const beats = Promise.all([silent.heartbeat.beat(), observer.heartbeat.beat()])
  await vi.waitFor(() => expect(observer.isLocked()).toBe(true))
  await pass(3 * LEASE_MS, observer)
  holder.exec('ROLLBACK')
  await beats
  await pass(LEASE_MS - 500, observer)
  expect(known()).toContain(silent.heartbeat.workerId)
})

test('while another process has locked the file, a worker keeps its leases, and looking does not block', async () => {
  const worker = newWorker()
  await worker.heartbeat.register()
  const holder = new DatabaseSync(path)
  opened.push(holder)
  holder.exec('BEGIN IMMEDIATE')
  const beat = worker.heartbeat.beat()
  await vi.waitFor(() => expect(worker.isLocked()).toBe(true))
  clockMs += LEASE_MS - 500
  const before = Date.now()
  const looks = Array.from({ length: 100 }, () => worker.heartbeat.isAlive())
  expect(Date.now() - before).toBeLessThan(5000)
  expect(new Set(looks)).toEqual(new Set([true]))
  holder.exec('ROLLBACK')
  await beat.catch(() => {})
  expect(worker.heartbeat.isAlive()).toBe(true)
})

test('a worker with a heartbeat is not reclaimed, even by one that has not read it since', async () => {
  const [beating, observer] = [newWorker(), newWorker()]
  await beating.heartbeat.register()
  await observer.heartbeat.observe()
  await pass(LEASE_MS - 500, observer)
  await beating.heartbeat.beat()
  await pass(LEASE_MS, observer)
  expect(known()).toEqual([beating.heartbeat.workerId])
  await observer.heartbeat.observe()
  await pass(LEASE_MS - 500, observer)
  expect(known()).toEqual([beating.heartbeat.workerId])
  await pass(500, observer)
  expect(known()).toEqual([])
})

test('after one process was suspended, the other workers are not reclaimed', async () => {
  const [other, observer] = [newWorker(), newWorker()]
  await other.heartbeat.register()
  await observer.heartbeat.observe()
  clockMs += 3_600_000
  await observer.heartbeat.reclaim()
  expect(known()).toEqual([other.heartbeat.workerId])
})

test('the silence of a worker is measured from when it is first seen, not from when the observer started', async () => {
  const observer = newWorker()
  await pass(2 * LEASE_MS, observer)
  const other = newWorker()
  await other.heartbeat.register()
  await observer.heartbeat.observe()
  await pass(LEASE_MS - 500, observer)
  expect(known()).toEqual([other.heartbeat.workerId])
})

test.each(['beats', 'looks'])('a worker that finds when it %s that it was buried begins anew', async (how) => {
  const { heartbeat, events } = newWorker()
  await heartbeat.register()
  const before = heartbeat.workerId
  sql('DELETE FROM workers')
  await (how === 'beats' ? heartbeat.beat() : heartbeat.observe())
  expect(events.onLost).toHaveBeenCalledTimes(1)
  expect(heartbeat.workerId).not.toBe(before)
  expect(known()).toEqual([heartbeat.workerId])
})

test('a worker that unregisters has no row and sends no heartbeat', async () => {
  const { heartbeat } = newWorker()
  await heartbeat.register()
  await heartbeat.unregister()
  await heartbeat.beat()
  expect(known()).toEqual([])
  expect(heartbeat.workerId).toBeUndefined()
})

test('a worker that was silent for three quarters of its lease looks at the file before it says that it is alive', async () => {
  const { heartbeat, events } = newWorker()
  await heartbeat.register()
  sql('DELETE FROM workers')
  clockMs += (LEASE_MS * 3) / 4 - 1
  expect(heartbeat.isAlive()).toBe(true)
  clockMs += 1
  expect([heartbeat.isAlive(), events.onLost.mock.calls.length]).toEqual([false, 1])
})
