import { expect, test } from 'vitest'
import type { Lease, TaskEngine, TaskRecord } from '../../../src/tasks/engine.ts'
import { answering, newTask, question, type ContractHarness } from './harness.ts'

// A turn is over when a lease lapses, so the tests take as long as a few leases.
const LEASE_MS = 600

/** Runs that return and have not ended their lease: what is lost, and when a task is given up. */
export function declareAbandonedRuns(stage: ContractHarness): void {
  test('a run that returns without having ended its lease has lost its task, which is run again, but not at once', async () => {
    const engine = await stage.engine({ leaseMs: LEASE_MS })
    const times: number[] = []
    const first = Promise.withResolvers<Lease>()
    const task = await ended(stage, engine, async (lease) => {
      times.push(performance.now())
      first.resolve(lease)
      if (times.length >= 2) await lease.end({ status: 'completed', result: {} })
    })
    expect(task).toMatchObject({ status: 'completed' })
    const [began = 0, again = 0] = times
    expect(again - began).toBeGreaterThan(LEASE_MS / 4)
    expect(again - began).toBeLessThan(3 * LEASE_MS)
    await expect((await first.promise).step('late', {})).rejects.toMatchObject({ code: 'LEASE_LOST' })
  })

  test('a task whose runs return without an end and get no further is given up', async () => {
    const engine = await stage.engine({ leaseMs: LEASE_MS, maxLosses: 1 })
    let runs = 0
    const { status, failure } = await ended(stage, engine, async (lease) => {
      runs++
      await lease.claim('again and again')
      await lease.note(`run ${runs}`)
      await lease.step('the same', {})
    })
    expect([status, runs]).toEqual(['failed', 2])
    expect(failure?.code).toBe(-32603)
    expect(failure?.message).toContain('lost its worker')
  })

  test('a task that gets further is not given up, however often it loses its worker', async () => {
    const engine = await stage.engine({ leaseMs: LEASE_MS, maxLosses: 2 })
    let runs = 0
    const { status } = await ended(stage, engine, async (lease) => {
      runs++
      if (runs % 2 === 0) await Promise.all([lease.step(`a${runs}`, {}), lease.step(`b${runs}`, {})])
      if (runs >= 5) await lease.end({ status: 'completed', result: {} })
    })
    expect(status).toBe('completed')
  })

  test('a task that asks forgets the workers it has lost', async () => {
    const engine = await stage.engine({ leaseMs: LEASE_MS, maxLosses: 1 })
    let runs = 0
    const { status } = await ended(stage, engine, async (lease) => {
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

/** Makes a task, lets it be run this way, and gives it as it is when it has ended. */
async function ended(
  stage: ContractHarness,
  engine: TaskEngine,
  run: (lease: Lease) => Promise<void>,
): Promise<TaskRecord> {
  const { id } = await engine.create(newTask())
  const working = engine.work({ tools: ['chore'], concurrency: 4, run })
  stage.onTestEnd(() => working.stop())
  return new Promise((resolve, reject) => {
    const look = async () => {
      const task = await engine.read(id, 'ann')
      if (task?.status === 'completed' || task?.status === 'failed') resolve(task)
    }
    stage.onTestEnd(engine.watch(id, () => void look().catch(reject)))
    look().catch(reject)
  })
}
