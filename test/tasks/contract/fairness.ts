import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Lease, NewTask, TaskEngine, TaskRecord } from '../../../src/tasks/engine.ts'
import { type ContractHarness, newTask, question } from './harness.ts'

const done = { status: 'completed', result: { done: true } } as const

/** One caller's tasks do not crowd out another's. */
export function declareFairness(harness: ContractHarness): void {
  test('the next free slot is for the caller with the fewest running tasks, and of these for the oldest task', async () => {
    const engine = await harness.engine()
    const names = await create(engine, 'ann', 12)
    const worker = harness.worker(engine, { concurrency: 4 })
    const running = await take(worker, 4)
    for (const [id, name] of await create(engine, 'bob', 3)) names.set(id, name)
    for (const [id, name] of await create(engine, 'cid', 1)) names.set(id, name)
    const order: (string | undefined)[] = []
    for (const lease of running) {
      await lease.end(done)
      order.push(names.get((await worker.nextLease()).id))
    }
    expect(order).toEqual(['bob 0', 'cid 0', 'ann 4', 'ann 5'])
  })

  test('a caller who is alone has every slot', async () => {
    const engine = await harness.engine()
    const names = await create(engine, 'ann', 20)
    const leases = await take(harness.worker(engine, { concurrency: 16 }), 16)
    expect(leases.map(({ id }) => names.get(id) ?? '').toSorted()).toEqual([...names.values()].slice(0, 16).toSorted())
  })

  test('free slots are shared when several callers wait', async () => {
    const engine = await harness.engine()
    const names = new Map([
      ...(await create(engine, 'ann', 20)),
      ...(await create(engine, 'bob', 2)),
      ...(await create(engine, 'cid', 5)),
    ])
    const worker = harness.worker(engine, { concurrency: 8 })
    const first = (await take(worker, 8)).map(({ id }) => names.get(id)?.split(' ')[0] ?? '')
    expect(first.toSorted()).toEqual(['ann', 'ann', 'ann', 'bob', 'bob', 'cid', 'cid', 'cid'])
  })

  test('of very many callers each is served, and a backlog of one of them as well', async () => {
    const engine = await harness.engine()
    const names = await create(engine, 'ann', 100)
    const others = Array.from({ length: 150 }, (_, at) => create(engine, `caller ${at}`, 1))
    for (const made of await Promise.all(others)) for (const [id, name] of made) names.set(id, name)
    const leased: string[] = []
    const all = Promise.withResolvers<void>()
    const run = async (lease: Lease) => {
      await lease.end(done)
      if (leased.push(names.get(lease.id) ?? '?') === names.size) all.resolve()
    }
    const working = engine.work({ tools: ['chore'], concurrency: 10, run })
    harness.onTestEnd(() => working.stop())
    await all.promise
    expect(leased.toSorted()).toEqual([...names.values()].toSorted())
    // Without turns, the backlog would come first.
    expect(leased.slice(0, 100).filter((name) => !name.startsWith('ann')).length).toBeGreaterThan(0)
  })

  test('a caller with as many unfinished tasks as is allowed gets no more, until one has ended', async () => {
    const engine = await harness.engine({ maxTasksPerCaller: 2 })
    const worker = harness.worker(engine)
    const first = newTask()
    const { id } = await engine.create(first)
    await (await worker.nextLease()).ask([question('a')], undefined)
    await engine.create(newTask())
    const refusal = { code: 'TASK_LIMIT', message: expect.stringContaining('maxTasksPerCaller') }
    await expect(engine.create(newTask())).rejects.toMatchObject(refusal)
    // The same call again creates nothing, and other callers have limits of their own.
    expect((await engine.create({ ...first, id: randomUUID() })).id).toBe(id)
    await engine.create(newTask({ owner: '', holder: 'bob' }))
    await engine.cancel(id, 'ann')
    await engine.create(newTask())
    await expect(engine.create(newTask())).rejects.toMatchObject(refusal)
  })

  test('callers whom nobody knows have limits and turns of their own, although they share their tasks', async () => {
    const engine = await harness.engine({ maxTasksPerCaller: 1 })
    const [one, other] = [newTask({ owner: '', holder: 'session 1' }), newTask({ owner: '', holder: 'session 2' })]
    await engine.create(one)
    await engine.create(other)
    await expect(engine.create(newTask({ owner: '', holder: 'session 1' }))).rejects.toMatchObject({
      code: 'TASK_LIMIT',
    })
    expect(await engine.read(other.id, '')).toMatchObject({ id: other.id } satisfies Partial<TaskRecord>)
  })

  test('the members of one holder have a limit each, and ten times that together', async () => {
    const engine = await harness.engine({ maxTasksPerCaller: 2 })
    const of = (member: string, given: Partial<NewTask> = {}) =>
      newTask({ owner: '', holder: 'network', member, ...given })
    const first = of('session 0')
    const { id } = await engine.create(first)
    await engine.create(of('session 0'))
    await expect(engine.create(of('session 0'))).rejects.toMatchObject({ message: expect.stringContaining('2 unfin') })
    for (let at = 2; at < 20; at++) await engine.create(of(`session ${at >> 1}`))
    const refusal = { code: 'TASK_LIMIT', message: expect.stringContaining('20 unfinished') }
    await expect(engine.create(of('session 10'))).rejects.toMatchObject(refusal)
    expect((await engine.create({ ...first, id: randomUUID() })).id).toBe(id)
    await engine.create(newTask({ owner: '', holder: 'another', member: 'session 11' }))
    await engine.cancel(id, '')
    await engine.create(of('session 10'))
    await expect(engine.create(of('session 11'))).rejects.toMatchObject(refusal)
  })

  test('the members of one holder have its turns, however many they are', async () => {
    const engine = await harness.engine()
    const names = new Map<string, string>()
    for (let at = 0; at < 12; at++) {
      const task = newTask({ owner: '', holder: 'network', member: `session ${at}` })
      names.set((await engine.create(task)).id, task.member ?? '')
    }
    const worker = harness.worker(engine, { concurrency: 4 })
    const [running] = await take(worker, 4)
    for (const [id, name] of await create(engine, 'bob', 2)) names.set(id, name)
    await running?.end(done)
    expect(names.get((await worker.nextLease()).id)).toBe('bob 0')
  })
}

/** Creates tasks of one caller, one after the other; gives a name for each id. */
async function create(engine: TaskEngine, holder: string, count: number): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  for (let at = 0; at < count; at++) {
    names.set((await engine.create(newTask({ owner: holder, holder }))).id, `${holder} ${at}`)
  }
  return names
}

async function take(worker: { nextLease(): Promise<Lease> }, count: number): Promise<Lease[]> {
  return Promise.all(Array.from({ length: count }, () => worker.nextLease()))
}
