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
let watchMs = 0
beforeEach(() => {
  watchMs = 1_000_000
  vi.spyOn(performance, 'now').mockImplementation(() => watchMs)
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
  const tables = new Tables({
    database,
    writes: new WriteQueue(database, () => {}),
    audience: '"a"',
    settings,
    now: Date.now,
    logger,
  })
  const events = { onLost: vi.fn<() => void>(), onReady: vi.fn<() => void>() }
  return { presence: new Heartbeat(tables, events), events }
}

const known = () => sql('SELECT id FROM workers').map(({ id }) => id)

/** Lets time pass as it does for a process that runs. */
async function pass(ms: number, { presence }: ReturnType<typeof newWorker>): Promise<void> {
  for (const end = watchMs + ms; watchMs < end; watchMs += 500) await presence.reclaim()
  await presence.reclaim()
}

test('a worker that is silent for its lease is buried by one that has watched it that long', async () => {
  const [silent, observer] = [newWorker(), newWorker()]
  await silent.presence.register()
  await observer.presence.register()
  await observer.presence.observe()
  observer.events.onReady.mockClear()
  await pass(LEASE_MS - 500, observer)
  expect(known()).toContain(silent.presence.workerId)
  await pass(500, observer)
  expect(known()).toEqual([observer.presence.workerId])
  expect(observer.events.onReady).toHaveBeenCalledTimes(1)
})

test('a worker that beats is not buried, even by one that has not looked since', async () => {
  const [beating, observer] = [newWorker(), newWorker()]
  await beating.presence.register()
  await observer.presence.observe()
  await pass(LEASE_MS - 500, observer)
  await beating.presence.beat()
  await pass(LEASE_MS, observer)
  expect(known()).toEqual([beating.presence.workerId])
  await observer.presence.observe()
  await pass(LEASE_MS - 500, observer)
  expect(known()).toEqual([beating.presence.workerId])
  await pass(500, observer)
  expect(known()).toEqual([])
})

test('nobody dies of the sleep of another', async () => {
  const [other, observer] = [newWorker(), newWorker()]
  await other.presence.register()
  await observer.presence.observe()
  watchMs += 3_600_000
  await observer.presence.reclaim()
  expect(known()).toEqual([other.presence.workerId])
})

test('a worker is watched from when it is first seen, and not from when the observer began', async () => {
  const observer = newWorker()
  await pass(2 * LEASE_MS, observer)
  const other = newWorker()
  await other.presence.register()
  await observer.presence.observe()
  await pass(LEASE_MS - 500, observer)
  expect(known()).toEqual([other.presence.workerId])
})

test.each(['beats', 'looks'])('a worker that finds when it %s that it was buried begins anew', async (how) => {
  const { presence, events } = newWorker()
  await presence.register()
  const before = presence.workerId
  sql('DELETE FROM workers')
  await (how === 'beats' ? presence.beat() : presence.observe())
  expect(events.onLost).toHaveBeenCalledTimes(1)
  expect(presence.workerId).not.toBe(before)
  expect(known()).toEqual([presence.workerId])
})

test('a worker that leaves is known no more, and beats no more', async () => {
  const { presence } = newWorker()
  await presence.register()
  await presence.unregister()
  await presence.beat()
  expect(known()).toEqual([])
  expect(presence.workerId).toBeUndefined()
})
