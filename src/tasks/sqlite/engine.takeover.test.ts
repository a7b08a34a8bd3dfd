/** What is special about workers over one file: they know the processes of their machine, and never ask a clock. */
import { spawnSync } from 'node:child_process'
import { expect, test, vi } from 'vitest'
import { newTask, ContractHarness } from '../../../test/tasks/contract/harness.ts'
import { WorkerProcess } from '../../../test/tasks/contract/workerProcess.ts'
import { sqliteEngine } from './engine.ts'
import { newSqliteStore } from '../../../test/tasks/contract/sqliteStore.ts'

const store = await newSqliteStore()
const harness = new ContractHarness(async () => store)
const HOUR_MS = 3_600_000

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
  const engines = clocks.map((clock) => sqliteEngine({ path: store.path, clock, leaseMs: 300 }))
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
  const beats = () => store.sql('SELECT beat FROM workers').map(({ beat }) => Number(beat))
  await vi.waitFor(() => expect(beats().every((beat) => beat >= 6)).toBe(true), 5000)
  expect([lease.signal.aborted, other.untaken]).toEqual([false, 0])
  await lease.end({ status: 'completed', result: {} })
  expect(await late.read(id, 'ann')).toMatchObject({ status: 'completed' })
})

test('each worker is judged by its own leaseMs: one with a short lease does not reclaim from one with a long lease', async () => {
  const [short, long] = [await harness.engine({ leaseMs: 150 }), await harness.engine({ leaseMs: HOUR_MS })]
  await long.create(newTask())
  const lease = await harness.worker(long).nextLease()
  const other = harness.worker(short)
  const beats = () => Math.max(...store.sql('SELECT beat FROM workers').map(({ beat }) => Number(beat)))
  await vi.waitFor(() => expect(beats()).toBeGreaterThanOrEqual(8), 5000)
  expect([lease.signal.aborted, other.untaken]).toEqual([false, 0])
})

test('a worker whose row was removed claims nothing before it has registered again', async () => {
  const engine = await harness.engine()
  const worker = harness.worker(engine)
  const workers = () => store.sql('SELECT id FROM workers').map(({ id }) => id)
  await vi.waitFor(() => expect(workers()).toHaveLength(1))
  const before = workers()
  store.sql('DELETE FROM workers')
  const { id } = await engine.create(newTask())
  const lease = await worker.nextLease()
  expect(workers()).toHaveLength(1)
  expect(workers()).not.toEqual(before)
  await lease.end({ status: 'completed', result: {} })
  expect(await engine.read(id, 'ann')).toMatchObject({ status: 'completed' })
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

test('a closed engine has removed its worker from the file', async () => {
  const engine = await harness.engine()
  harness.worker(engine)
  await vi.waitFor(() => expect(store.sql('SELECT id FROM workers')).toHaveLength(1))
  await engine.close()
  expect(store.sql('SELECT id FROM workers')).toEqual([])
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
  const { status, stderr } = spawnSync(process.execPath, args, { timeout: 8000, encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
})
