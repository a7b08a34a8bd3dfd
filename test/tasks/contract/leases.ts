import { expect, test, vi } from 'vitest'
import type { TaskEngine } from '../../../src/tasks/engine.ts'
import { newTask, type ContractHarness } from './harness.ts'

const done = { status: 'completed', result: { done: true } } as const

/** Who gets to run a task, and when. */
export function declareLeases(stage: ContractHarness): void {
  test('a lease brings what its task was created with', async () => {
    const engine = await stage.engine()
    const args = { text: 'é\u0000\ud800', nested: [1, null, { __proto__x: 1 }] }
    const task = newTask({ args, caller: { name: 'ann', scopes: ['a'] } })
    await engine.create(task)
    const lease = await stage.worker(engine).nextLease()
    expect(lease).toMatchObject({ id: task.id, tool: 'chore', args, caller: task.caller })
    expect(lease.signal.aborted).toBe(false)
    expect(lease.journal.id).toBe(task.journal.id)
  })

  test('a task is leased when it is created, and one that was created before when work begins', async () => {
    const engine = await stage.engine()
    const before = await engine.create(newTask())
    const hand = stage.worker(engine)
    expect((await hand.nextLease()).id).toBe(before.id)
    const next = hand.nextLease()
    const after = await engine.create(newTask())
    expect((await next).id).toBe(after.id)
  })

  test('a task that another process created is leased', async () => {
    const [engine, other] = [await stage.engine(), await stage.engine()]
    const next = stage.worker(engine).nextLease()
    const { id } = await other.create(newTask())
    expect((await next).id).toBe(id)
  })

  test('each task is leased once, however many workers there are', async () => {
    const engines = await Promise.all([stage.engine(), stage.engine(), stage.engine()])
    const leased: string[] = []
    for (const engine of engines) finishAll(stage, engine, leased)
    const made = await Promise.all(Array.from({ length: 30 }, (_, turn) => create(engines[turn % 3])))
    await vi.waitFor(async () => {
      const { tasks } = await engines[0].list('ann', undefined, 100)
      expect(tasks.filter(({ status }) => status === 'completed')).toHaveLength(30)
    })
    expect(leased.toSorted()).toEqual(made.toSorted())
  })

  test('the oldest is leased first, and no more at a time than there is room for', async () => {
    const engine = await stage.engine()
    const ids: string[] = []
    for (let count = 0; count < 4; count++) ids.push(await create(engine))
    const hand = stage.worker(engine, { concurrency: 2 })
    const first = [await hand.nextLease(), await hand.nextLease()]
    expect(first.map(({ id }) => id)).toEqual(ids.slice(0, 2))
    expect(hand.unclaimed).toBe(0)
    await first[1]?.end(done)
    expect((await hand.nextLease()).id).toBe(ids[2])
    expect(hand.unclaimed).toBe(0)
  })

  test('a task whose tool nobody serves waits until somebody does', async () => {
    const engine = await stage.engine()
    const odd = await engine.create(newTask({ tool: 'odd "tool"' }))
    const plain = await engine.create(newTask())
    const hand = stage.worker(engine)
    expect((await hand.nextLease()).id).toBe(plain.id)
    expect(hand.unclaimed).toBe(0)
    hand.serve('odd "tool"')
    expect((await hand.nextLease()).id).toBe(odd.id)
  })

  test('a task that is given back is leased again, and its owner sees no difference', async () => {
    const engine = await stage.engine()
    const created = await engine.create(newTask())
    const hand = stage.worker(engine)
    const first = await hand.nextLease()
    await first.step('a', { value: 1 })
    await first.giveBack()
    const second = await hand.nextLease()
    expect(second.id).toBe(first.id)
    expect(second.journal.steps).toEqual(new Map([['a', { value: 1 }]]))
    await expect(first.step('b', {})).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(await engine.read(created.id, 'ann')).toEqual(created)
  })

  test('a worker that stops takes nothing more and waits for its runs; others go on', async () => {
    const [engine, other] = [await stage.engine(), await stage.engine()]
    await create(engine)
    const hand = stage.worker(engine)
    const lease = await hand.nextLease()
    let stopped = false
    const stopping = hand.stop().then(() => (stopped = true))
    const later = await create(engine)
    expect((await stage.worker(other).nextLease()).id).toBe(later)
    expect([stopped, hand.unclaimed]).toEqual([false, 0])
    await lease.end(done)
    await stopping
    expect(await engine.read(lease.id, 'ann')).toMatchObject({ status: 'completed' })
  })

  test('what an engine has not finished when it closes goes on in the next', async () => {
    const first = await stage.engine({ leaseMs: 60_000 })
    const id = await create(first)
    const lease = await stage.worker(first).nextLease()
    await lease.step('a', { value: 'kept' })
    await lease.claim('b')
    await first.close()
    expect(lease.signal.aborted).toBe(true)
    await expect(lease.step('c', {})).rejects.toMatchObject({ code: 'LEASE_LOST' })

    const second = await stage.engine({ leaseMs: 60_000 })
    const again = await stage.worker(second).nextLease()
    expect(again.id).toBe(id)
    expect(again.journal.steps).toEqual(new Map([['a', { value: 'kept' }]]))
    expect(await again.claim('b')).toBe('running')
    await again.end(done)
    expect(await second.read(id, 'ann')).toMatchObject({ status: 'completed' })
  })
}

async function create(engine: TaskEngine | undefined): Promise<string> {
  if (engine === undefined) throw new Error('There is an engine for every turn.')
  return (await engine.create(newTask())).id
}

/** Ends every task as soon as it is leased, and notes which. */
function finishAll(stage: ContractHarness, engine: TaskEngine, leased: string[]): void {
  const working = engine.work({
    tools: ['chore'],
    concurrency: 4,
    async run(lease) {
      leased.push(lease.id)
      await lease.end(done)
    },
  })
  stage.onTestEnd(() => working.stop())
}
