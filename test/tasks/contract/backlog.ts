import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Lease, TaskEngine } from '../../../src/tasks/engine.ts'
import { answering, type ContractHarness, newTask, question } from './harness.ts'

const done = { status: 'completed', result: { done: true } } as const
const LEASE_MS = 400
const BACKLOG = 100
const WORK_MS = 10

/** Tasks that have been run before keep their place: they come before those that were created later. */
export function declareBacklog(harness: ContractHarness): void {
  test('a task is leased before the backlog when its questions are answered', async () => {
    const { engine, id } = await createBefore(harness)
    const worker = harness.worker(engine, { concurrency: 1 })
    await (await worker.nextLease()).ask([question('a')], undefined)
    const other = await worker.nextLease()
    await engine.answer(id, 'ann', answering('a'))
    await other.end(done)
    expect((await worker.nextLease()).id).toBe(id)
  })

  test('a task is leased before the backlog when it is given back', async () => {
    const { engine, id } = await createBefore(harness)
    const worker = harness.worker(engine, { concurrency: 1 })
    await (await worker.nextLease()).giveBack()
    expect((await worker.nextLease()).id).toBe(id)
  })

  test('a task is leased before the backlog when its worker is lost', async () => {
    const { engine, id } = await createBefore(harness)
    const worker = harness.worker(engine, { concurrency: 1 })
    expect((await worker.nextLease()).id).toBe(id)
    await worker.abandonAll()
    const leased: string[] = []
    const found = Promise.withResolvers<void>()
    const run = async (lease: Lease) => {
      leased.push(lease.id)
      if (lease.id === id || leased.length > BACKLOG) found.resolve()
      // The backlog takes longer than the lease, so that the task is ready again before its end.
      else await sleep(WORK_MS)
      await lease.end(done)
    }
    const working = engine.work({ tools: ['chore'], concurrency: 1, run })
    harness.onTestEnd(() => working.stop())
    await found.promise
    expect(leased.length).toBeLessThan(BACKLOG)
  })
}

/** Creates a task, and many others after it. */
async function createBefore(harness: ContractHarness): Promise<{ engine: TaskEngine; id: string }> {
  const engine = await harness.engine({ leaseMs: LEASE_MS })
  const { id } = await engine.create(newTask())
  await Promise.all(Array.from({ length: BACKLOG }, () => engine.create(newTask())))
  return { engine, id }
}
