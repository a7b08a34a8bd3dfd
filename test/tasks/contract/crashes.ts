import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import type { EngineOptions, Lease, TaskEngine, TaskRecord } from '../../../src/tasks/engine.ts'
import { LOST_TOO_OFTEN } from '../../../src/tasks/errors.ts'
import { newTask, type ContractHarness } from './harness.ts'
import { WorkerProcess } from './workerProcess.ts'

// Long enough for a busy machine, short enough for a test.
const LEASE_MS = 1000
/** As many as a worker process runs at once. */
const LOST_TOGETHER = 10

/** Workers that are killed or frozen, in processes of their own. */
export function declareCrashes(harness: ContractHarness): void {
  test('of several processes exactly one runs each task', async () => {
    const engine = await harness.engine()
    const workers = [new WorkerProcess(harness, {}), new WorkerProcess(harness, {})]
    await Promise.all(workers.map((worker) => worker.event('ready')))
    const made = await Promise.all(Array.from({ length: 60 }, () => engine.create(newTask({ args: { finish: true } }))))
    const ended = () => workers.flatMap((worker) => worker.printed('ended'))
    await vi.waitFor(() => expect(ended().length).toBeGreaterThanOrEqual(60), 5000)
    expect(ended()).toHaveLength(60)
    expect(new Set(ended().map((event) => 'id' in event && event.id))).toEqual(new Set(made.map(({ id }) => id)))
    const { tasks } = await engine.list('ann', undefined, 100)
    expect(tasks.every(({ status }) => status === 'completed')).toBe(true)
  })

  test('the tasks of a killed worker go on elsewhere, over what it had committed', async () => {
    const engine = await harness.engine({ leaseMs: LEASE_MS })
    const worker = new WorkerProcess(harness, { leaseMs: LEASE_MS })
    const { id } = await engine.create(newTask())
    await worker.event('holds')
    const nextWorker = harness.worker(engine)
    await worker.kill()
    await finishTakenOver(await nextWorker.nextLease(), id)
    expect(await engine.read(id, 'ann')).toMatchObject({ status: 'completed', result: { by: 'the next worker' } })
  })

  test('a frozen worker loses its tasks within its lease, and neither begins nor writes anything when it wakes', async () => {
    const engine = await harness.engine({ leaseMs: LEASE_MS })
    const worker = new WorkerProcess(harness, { leaseMs: LEASE_MS })
    const { id } = await engine.create(newTask({ args: { freeze: true } }))
    await worker.event('holds')
    const frozenAt = performance.now()
    const lease = await harness.worker(engine).nextLease()
    expect(performance.now() - frozenAt).toBeLessThan(10 * LEASE_MS)
    worker.wake()
    // It knows before any timer of it has fired.
    expect(await worker.event('woken')).toMatchObject({ isOver: true, isAborted: true })
    const { codes } = await worker.event('lost')
    expect(codes).toEqual(Array.from({ length: 7 }, () => 'LEASE_LOST'))
    expect(lease.signal.aborted).toBe(false)
    await finishTakenOver(lease, id)
    expect(await engine.read(id, 'ann')).toMatchObject({ status: 'completed', result: { by: 'the next worker' } })
  })

  test('a worker that lost its leases while frozen claims tasks again when it wakes', async () => {
    const engine = await harness.engine({ leaseMs: LEASE_MS })
    const worker = new WorkerProcess(harness, { leaseMs: LEASE_MS })
    const { id } = await engine.create(newTask())
    await worker.event('holds')
    await worker.freeze()
    const nextWorker = harness.worker(engine)
    await finishTakenOver(await nextWorker.nextLease(), id)
    await nextWorker.stop()
    worker.wake()
    await worker.event('lost')
    const next = await engine.create(newTask())
    expect(await worker.event('holds')).toMatchObject({ id: next.id })
  })

  test('a task that loses its worker too often fails', async () => {
    const engine = await harness.engine({ leaseMs: LEASE_MS, maxLosses: 1 })
    const { id } = await engine.create(newTask())
    for (let turn = 0; turn < 2; turn++) {
      const worker = new WorkerProcess(harness, { leaseMs: LEASE_MS, maxLosses: 1 })
      await worker.event('holds')
      await worker.kill()
    }
    const nextWorker = harness.worker(engine)
    await new Promise<void>((resolve, reject) => {
      const check = async () => void ((await engine.read(id, 'ann'))?.status === 'failed' && resolve())
      harness.onTestEnd(engine.watch(id, () => void check().catch(reject)))
      check().catch(reject)
    })
    expect(nextWorker.untaken).toBe(0)
    const { failure } = (await engine.read(id, 'ann')) ?? {}
    expect(failure?.code).toBe(-32603)
    expect(failure?.message).toContain('lost its worker')
  })

  test.each([1, 2])(
    'a task that crashes its process each time fails alone, and those beside it complete, processes: %i',
    { timeout: 60_000 },
    async (count) => {
      const options = { leaseMs: LEASE_MS, maxLosses: 1 }
      const engine = await harness.engine(options)
      // They take longer than the first trial.
      const innocents = Array.from({ length: 6 }, () => newTask({ args: { workMs: 600, finish: true } }))
      const crashing = newTask({ args: { crash: true } })
      for (const task of [...innocents.slice(0, 3), crashing, ...innocents.slice(3)]) await engine.create(task)
      for (let index = 0; index < count; index++) keepRunning(harness, options)
      const [failed, ...others] = await Promise.all([crashing, ...innocents].map(({ id }) => ended(engine, id, 50_000)))
      expect(others.map(({ status }) => status)).toEqual(innocents.map(() => 'completed'))
      expect(failed).toMatchObject({ status: 'failed', failure: { code: -32603, message: LOST_TOO_OFTEN } })
    },
  )

  test('the tasks of a killed worker are claimed together by the next one', async () => {
    const engine = await harness.engine({ leaseMs: LEASE_MS })
    const worker = new WorkerProcess(harness, { leaseMs: LEASE_MS })
    for (let index = 0; index < LOST_TOGETHER; index++) await engine.create(newTask())
    for (let index = 0; index < LOST_TOGETHER; index++) await worker.event('holds')
    await worker.kill()
    await sleep(LEASE_MS) // each lease is over
    const nextWorker = harness.worker(await harness.engine({ leaseMs: LEASE_MS }))
    await nextWorker.nextLease()
    expect(nextWorker.untaken).toBe(LOST_TOGETHER - 1)
  })

  test('tasks that lose their worker together are not charged, and do not keep others from being run', {
    timeout: 30_000,
  }, async () => {
    const engine = await harness.engine({ leaseMs: LEASE_MS, maxLosses: 0 })
    const worker = new WorkerProcess(harness, { leaseMs: LEASE_MS, maxLosses: 0 })
    for (let index = 0; index < LOST_TOGETHER; index++) await engine.create(newTask())
    for (let index = 0; index < LOST_TOGETHER; index++) await worker.event('holds')
    const nextWorker = harness.worker(engine)
    await worker.kill()
    const late = await engine.create(newTask({ args: { finish: true } }))
    const leases = await Promise.all(Array.from({ length: LOST_TOGETHER + 1 }, () => nextWorker.nextLease()))
    expect(leases.map(({ id }) => id)).toContain(late.id)
    expect(new Set(leases.map(({ id }) => id)).size).toBe(LOST_TOGETHER + 1)
  })
}

/** Starts a worker process, and another one whenever it ends, as a supervisor does. */
function keepRunning(harness: ContractHarness, options: EngineOptions): void {
  let isOver = false
  const start = (): void => {
    if (isOver) return
    const { closed } = new WorkerProcess(harness, options)
    // Runs before the test kills the process, because the last cleanup comes first.
    harness.onTestEnd(() => (isOver = true))
    void closed.then(start)
  }
  start()
}

/** The record of a task that has completed or failed within this time. */
async function ended(engine: TaskEngine, id: string, timeout: number): Promise<TaskRecord> {
  return vi.waitFor(
    async () => {
      const task = await engine.read(id, 'ann')
      if (task?.status !== 'completed' && task?.status !== 'failed') throw new Error(`The task is ${task?.status}.`)
      return task
    },
    { timeout, interval: 100 },
  )
}

async function finishTakenOver(lease: Lease, id: string): Promise<void> {
  expect(lease.id).toBe(id)
  expect([...lease.journal.steps.keys()]).toEqual(['first'])
  expect(await lease.claim('claimed')).toBe('running')
  await lease.end({ status: 'completed', result: { by: 'the next worker' } })
}
