/** What is special about workers over one file: they know the processes of their machine, and have one clock. */
import { spawnSync } from 'node:child_process'
import { DatabaseSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import { newTask, ContractHarness } from '../../../test/tasks/contract/harness.ts'
import { WorkerProcess } from '../../../test/tasks/contract/workerProcess.ts'
import { sqliteEngine } from './engine.ts'
import { newSqliteStore } from '../../../test/tasks/contract/sqliteStore.ts'

const store = await newSqliteStore()
const harness = new ContractHarness(async () => store)
const HOUR_MS = 3_600_000

/** Waits until a lease was renewed this number of times. */
async function renewals(count: number): Promise<void> {
  const seen = new Set<unknown>()
  const times = () => store.sql('SELECT leased_until FROM tasks WHERE worker IS NOT NULL ORDER BY number')
  await vi.waitFor(
    () => {
      seen.add(JSON.stringify(times()))
      expect(seen.size).toBeGreaterThan(count)
    },
    { timeout: 10_000, interval: 5 },
  )
}

/** Waits until the lease that the file names has been over for this time. */
async function overFor(ms: number): Promise<void> {
  const [task] = store.sql('SELECT leased_until FROM tasks WHERE worker IS NOT NULL')
  await vi.waitFor(() => expect(Date.now() - Number(task?.['leased_until'])).toBeGreaterThan(ms))
}

const NOW = Date.UTC(2026, 6, 28)

test('the tasks of a killed process are taken over at once, however long its lease', async () => {
  const engine = await harness.engine({ leaseMs: HOUR_MS })
  const worker = new WorkerProcess(harness, { leaseMs: HOUR_MS })
  const { id } = await engine.create(newTask())
  await worker.event('holds')
  const nextWorker = harness.worker(engine)
  await worker.kill()
  const killedAt = performance.now()
  expect((await nextWorker.nextLease()).id).toBe(id)
  expect(performance.now() - killedAt).toBeLessThan(20_000)
})

test('a process that starts reclaims the tasks of a killed one at once', async () => {
  const engine = await harness.engine({ leaseMs: HOUR_MS })
  const killed = new WorkerProcess(harness, { leaseMs: HOUR_MS })
  const { id } = await engine.create(newTask())
  await killed.event('holds')
  await killed.kill()
  const next = new WorkerProcess(harness, { leaseMs: HOUR_MS })
  expect(await next.event('holds')).toMatchObject({ id })
})

test('workers whose clocks are a day apart do not reclaim from each other', async () => {
  const clocks = [() => Date.now() - 12 * HOUR_MS, () => Date.now() + 12 * HOUR_MS]
  const engines = clocks.map((clock) => sqliteEngine({ path: store.path, clock, leaseMs: 2000 }))
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  for (const engine of engines) {
    await engine.open({ audience: harness.audience, logger: () => logger })
    harness.onTestEnd(() => engine.close())
  }
  const [early, late] = engines
  if (early === undefined || late === undefined) throw new Error('There are two engines.')
  const { id } = await early.create(newTask({ ttlMs: null }))
  const lease = await harness.worker(early).nextLease()
  const other = harness.worker(late)
  await renewals(3)
  expect([lease.signal.aborted, other.untaken]).toEqual([false, 0])
  await lease.end({ status: 'completed', result: {} })
  expect(await late.read(id, 'ann')).toMatchObject({ status: 'completed' })
})

/** Engines over a file of their own, the first with the right clock and the second with one that is an hour ahead. */
async function anHourApart() {
  const { path, remove } = await newSqliteStore()
  let passedMs = 0
  const open = async (aheadMs: number) => {
    const engine = sqliteEngine({ path, clock: () => NOW + aheadMs + passedMs })
    await engine.open({ audience: 'a', logger: () => ({ debug() {}, info() {}, warn() {}, error() {} }) })
    harness.onTestEnd(() => engine.close())
    return engine
  }
  harness.onTestEnd(remove)
  return { right: await open(0), ahead: await open(HOUR_MS), pass: (ms: number) => void (passedMs += ms) }
}

test('a process whose clock is an hour ahead sees and runs the tasks of others, and they see and run its tasks', async () => {
  const { right, ahead } = await anHourApart()
  for (const [one, other] of [
    [right, ahead],
    [ahead, right],
  ] as const) {
    const { id, createdAt } = await one.create(newTask({ ttlMs: 60_000 }))
    expect(await other.read(id, 'ann')).toMatchObject({ id, createdAt, ttlMs: 60_000 })
    const worker = harness.worker(other)
    const lease = await worker.nextLease()
    expect(lease.id).toBe(id)
    await lease.end({ status: 'completed', result: {} })
    await worker.stop()
  }
})

test('tasks of processes whose clocks are an hour apart expire after their own TTL, and not before', async () => {
  const { right, ahead, pass } = await anHourApart()
  const ids = await Promise.all([right, ahead].map(async (engine) => (await engine.create(newTask())).id))
  const found = () => Promise.all([right, ahead].map((engine) => engine.existing(ids, 'ann')))
  pass(50_000)
  expect(await found()).toEqual([ids, ids])
  pass(15_000)
  expect(await found()).toEqual([[], []])
})

test('each worker is judged by its own leaseMs: one with a short lease does not reclaim from one with a long lease', async () => {
  const [short, long] = [await harness.engine({ leaseMs: 1000 }), await harness.engine({ leaseMs: HOUR_MS })]
  await long.create(newTask())
  const lease = await harness.worker(long).nextLease()
  const other = harness.worker(short)
  const { id } = await short.create(newTask())
  expect((await other.nextLease()).id).toBe(id)
  await renewals(8) // more than a short lease
  expect([lease.signal.aborted, other.untaken]).toEqual([false, 0])
})

test('a task whose run returns without ending its lease is run again', async () => {
  const engine = await harness.engine()
  await engine.create(newTask())
  let runs = 0
  const again = new Promise<void>((resolve) => {
    const working = engine.work({
      tools: ['chore'],
      concurrency: 1,
      async run(lease) {
        if (++runs === 1) return
        await lease.end({ status: 'completed', result: {} })
        resolve()
      },
    })
    harness.onTestEnd(() => working.stop())
  })
  await again
  expect(runs).toBe(2)
})

test('while another process has locked the file for longer than a lease, a worker keeps its task, and others do not claim it', async () => {
  const [engine, other] = [await harness.engine({ leaseMs: 1000 }), await harness.engine({ leaseMs: 1000 })]
  await engine.create(newTask())
  const lease = await harness.worker(engine).nextLease()
  const otherWorker = harness.worker(other)
  const locking = new DatabaseSync(store.path, { timeout: 5000 })
  harness.onTestEnd(() => locking.close())
  locking.exec('BEGIN IMMEDIATE')
  await overFor(3000) // A claim that waited for the file for more than a second does nothing.
  expect([lease.isOver(), lease.signal.aborted]).toEqual([false, false])
  locking.exec('ROLLBACK')
  await renewals(3)
  expect([lease.isOver(), otherWorker.untaken]).toEqual([false, 0])
  await lease.end({ status: 'completed', result: {} })
})

test('an engine that works and watches keeps no process alive', () => {
  const module = JSON.stringify(new URL('./engine.ts', import.meta.url).href)
  const source = `
    import { sqliteEngine } from ${module}
    const engine = sqliteEngine({ path: ':memory:' })
    await engine.open({ audience: 'a', logger: () => console })
    engine.work({ tools: ['chore'], concurrency: 1, run: async () => {} })
    engine.watch('x', () => {})`
  const args = ['--no-warnings', '--conditions=pannier-source', '--input-type=module', '--eval', source]
  const { status, stderr } = spawnSync(process.execPath, args, { timeout: 25_000, encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
})
