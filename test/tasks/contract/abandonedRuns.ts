import { expect, test } from 'vitest'
import type { Lease, TaskEngine, TaskRecord } from '../../../src/tasks/engine.ts'
import { answering, newTask, question, type ContractHarness } from './harness.ts'

// A task is run again when its lease expires, so the tests take as long as a few leases.
const LEASE_MS = 600

/** Runs that return without having ended their lease: how losses count, and when a task fails. */
export function declareAbandonedRuns(harness: ContractHarness): void {
  test('a run that returns without having ended its lease loses it, and the task is run again after a pause', async () => {
    const engine = await harness.engine({ leaseMs: LEASE_MS })
    const times: number[] = []
    const first = Promise.withResolvers<Lease>()
    const task = await ended(harness, engine, async (lease) => {
      times.push(performance.now())
      first.resolve(lease)
      if (times.length >= 2) await lease.end({ status: 'completed', result: {} })
    })
    expect(task).toMatchObject({ status: 'completed' })
    const [began = 0, again = 0] = times
    expect(again - began).toBeGreaterThan(LEASE_MS / 4)
    expect(again - began).toBeLessThan(20 * LEASE_MS)
    await expect((await first.promise).step('late', {})).rejects.toMatchObject({ code: 'LEASE_LOST' })
  })

  test('a task whose runs return without ending their leases and without progress fails', async () => {
    const engine = await harness.engine({ leaseMs: LEASE_MS, maxLosses: 1 })
    let runs = 0
    const { status, failure } = await ended(harness, engine, async (lease) => {
      runs++
      await lease.claim('again and again')
      await lease.note(`run ${runs}`)
      await lease.step('the same', {})
    })
    expect([status, runs]).toEqual(['failed', 2])
    expect(failure?.code).toBe(-32603)
    expect(failure?.message).toContain('lost its worker')
  })

  test('a task that makes progress does not fail, however often it loses its worker', async () => {
    const engine = await harness.engine({ leaseMs: LEASE_MS, maxLosses: 2 })
    let runs = 0
    const { status } = await ended(harness, engine, async (lease) => {
      runs++
      if (runs % 2 === 0) await Promise.all([lease.step(`a${runs}`, {}), lease.step(`b${runs}`, {})])
      if (runs >= 5) await lease.end({ status: 'completed', result: {} })
    })
    expect(status).toBe('completed')
  })

  test('a question resets the count of lost workers', async () => {
    const engine = await harness.engine({ leaseMs: LEASE_MS, maxLosses: 1 })
    let runs = 0
    const { status } = await ended(harness, engine, async (lease) => {
      runs++
      if (runs === 2) {
        await lease.ask([question('a')], undefined)
        await engine.answer(lease.id, 'ann', answering('a'))
      }
      if (runs >= 4) await lease.end({ status: 'completed', result: {} })
    })
    expect(status).toBe('completed')
  })
}

/** Creates a task, runs it with this handler, and gives its record once it has ended. */
async function ended(
  harness: ContractHarness,
  engine: TaskEngine,
  run: (lease: Lease) => Promise<void>,
): Promise<TaskRecord> {
  const { id } = await engine.create(newTask())
  const working = engine.work({ tools: ['chore'], concurrency: 4, run })
  harness.onTestEnd(() => working.stop())
  return new Promise((resolve, reject) => {
    const check = async () => {
      const task = await engine.read(id, 'ann')
      if (task?.status === 'completed' || task?.status === 'failed') resolve(task)
    }
    harness.onTestEnd(engine.watch(id, () => void check().catch(reject)))
    check().catch(reject)
  })
}
