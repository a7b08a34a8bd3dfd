import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import type { TaskEngine } from '../../../src/tasks/engine.ts'
import { newTask, type ContractHarness } from './harness.ts'

// Long enough for a busy machine: a worker that cannot renew its lease in time loses it.
const LEASE_MS = 1500

const done = { status: 'completed', result: { done: true } } as const

/** Which worker runs a task, and when. */
export function declareLeases(harness: ContractHarness): void {
  test('a lease has what its task was created with', async () => {
    const engine = await harness.engine()
    const args = { text: 'é\u0000\ud800', nested: [1, null, { __proto__x: 1 }] }
    const task = newTask({ args, caller: { name: 'ann', scopes: ['a'] } })
    await engine.create(task)
    const lease = await harness.worker(engine).nextLease()
    expect(lease).toMatchObject({ id: task.id, tool: 'chore', args, caller: task.caller })
    expect(lease.signal.aborted).toBe(false)
    expect(lease.journal.id).toBe(task.journal.id)
  })

  test('a task is leased when it is created, and one that was created before when work begins', async () => {
    const engine = await harness.engine()
    const before = await engine.create(newTask())
    const worker = harness.worker(engine)
    expect((await worker.nextLease()).id).toBe(before.id)
    const next = worker.nextLease()
    const after = await engine.create(newTask())
    expect((await next).id).toBe(after.id)
  })

  test('a task that another process created is leased', async () => {
    const [engine, other] = [await harness.engine(), await harness.engine()]
    const next = harness.worker(engine).nextLease()
    const { id } = await other.create(newTask())
    expect((await next).id).toBe(id)
  })

  test('each task is leased once, however many workers there are', async () => {
    const engines = await Promise.all([harness.engine(), harness.engine(), harness.engine()])
    const leased: string[] = []
    for (const engine of engines) finishAll(harness, engine, leased)
    const made = await Promise.all(Array.from({ length: 30 }, (_, turn) => create(engines[turn % 3])))
    await vi.waitFor(async () => {
      const { tasks } = await engines[0].list('ann', undefined, 100)
      expect(tasks.filter(({ status }) => status === 'completed')).toHaveLength(30)
    }, 20_000)
    expect(leased.toSorted()).toEqual(made.toSorted())
  })

  test('the oldest task is leased first, and no more at a time than there are slots', async () => {
    const engine = await harness.engine()
    const ids: string[] = []
    for (let count = 0; count < 4; count++) ids.push(await create(engine))
    const worker = harness.worker(engine, { concurrency: 2 })
    const first = [await worker.nextLease(), await worker.nextLease()]
    expect(first.map(({ id }) => id)).toEqual(ids.slice(0, 2))
    expect(worker.untaken).toBe(0)
    await first[1]?.end(done)
    expect((await worker.nextLease()).id).toBe(ids[2])
    expect(worker.untaken).toBe(0)
  })

  test('a task whose tool no worker serves waits until one does', async () => {
    const engine = await harness.engine()
    const odd = await engine.create(newTask({ tool: 'odd "tool"' }))
    const plain = await engine.create(newTask())
    const worker = harness.worker(engine)
    expect((await worker.nextLease()).id).toBe(plain.id)
    expect(worker.untaken).toBe(0)
    worker.serve('odd "tool"')
    expect((await worker.nextLease()).id).toBe(odd.id)
  })

  test('a task that is given back is leased again, and its owner sees no difference', async () => {
    const engine = await harness.engine()
    const created = await engine.create(newTask())
    const worker = harness.worker(engine)
    const first = await worker.nextLease()
    await first.step('a', { value: 1 })
    await first.giveBack()
    const second = await worker.nextLease()
    expect(second.id).toBe(first.id)
    expect(second.journal.steps).toEqual(new Map([['a', { value: 1 }]]))
    await expect(first.step('b', {})).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(await engine.read(created.id, 'ann')).toEqual(created)
  })

  test('a lease lasts as long as its worker renews it, and no other worker gets its task', async () => {
    const [engine, other] = [await harness.engine({ leaseMs: LEASE_MS }), await harness.engine({ leaseMs: LEASE_MS })]
    await Promise.all([create(engine), create(engine)])
    const worker = harness.worker(engine)
    const leases = [await worker.nextLease(), await worker.nextLease()]
    const otherWorker = harness.worker(other)
    await sleep(2.5 * LEASE_MS)
    expect(leases.map((lease) => [lease.isOver(), lease.signal.aborted])).toEqual(leases.map(() => [false, false]))
    expect([worker.untaken, otherWorker.untaken]).toEqual([0, 0])
    for (const lease of leases) await lease.end(done)
  })

  test('a worker that stops claims no more tasks and waits for its runs; others continue', async () => {
    const [engine, other] = [await harness.engine(), await harness.engine()]
    await create(engine)
    const worker = harness.worker(engine)
    const lease = await worker.nextLease()
    let stopped = false
    const stopping = worker.stop().then(() => (stopped = true))
    const later = await create(engine)
    expect((await harness.worker(other).nextLease()).id).toBe(later)
    expect([stopped, worker.untaken]).toEqual([false, 0])
    await lease.end(done)
    await stopping
    expect(await engine.read(lease.id, 'ann')).toMatchObject({ status: 'completed' })
  })

  test('tasks that an engine has not finished when it closes continue in the next', async () => {
    const first = await harness.engine({ leaseMs: 60_000 })
    const id = await create(first)
    const lease = await harness.worker(first).nextLease()
    await lease.step('a', { value: 'kept' })
    await lease.claim('b')
    await first.close()
    expect(lease.signal.aborted).toBe(true)
    await expect(lease.step('c', {})).rejects.toMatchObject({ code: 'LEASE_LOST' })

    const second = await harness.engine({ leaseMs: 60_000 })
    const again = await harness.worker(second).nextLease()
    expect(again.id).toBe(id)
    expect(again.journal.steps).toEqual(new Map([['a', { value: 'kept' }]]))
    expect(await again.claim('b')).toBe('running')
    await again.end(done)
    expect(await second.read(id, 'ann')).toMatchObject({ status: 'completed' })
  })
}

async function create(engine: TaskEngine | undefined): Promise<string> {
  if (engine === undefined) throw new Error('There must be an engine for every turn.')
  return (await engine.create(newTask())).id
}

/** Ends every task as soon as it is leased, and notes which. */
function finishAll(harness: ContractHarness, engine: TaskEngine, leased: string[]): void {
  const working = engine.work({
    tools: ['chore'],
    concurrency: 4,
    async run(lease) {
      leased.push(lease.id)
      await lease.end(done)
    },
  })
  harness.onTestEnd(() => working.stop())
}
