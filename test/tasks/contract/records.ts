import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { newJournal } from '../../../src/journal/index.ts'
import { answering, newTask, question, type ContractHarness } from './harness.ts'

/** Tasks as their owners see them: created once, visible to one owner, unknown once expired. */
export function declareRecords(harness: ContractHarness): void {
  test('which of many tasks exist is found without reading them, for their owner alone', async () => {
    const engine = await harness.engine()
    const [mine, other] = [await engine.create(newTask()), await engine.create({ ...newTask(), owner: 'bob' })]
    const ids = ['none', mine.id, other.id, 'x'.repeat(2000)]
    expect(await engine.existing(ids, 'ann')).toEqual([mine.id])
    expect(await engine.existing(ids, 'bob')).toEqual([other.id])
    expect(await engine.existing([], 'ann')).toEqual([])
  })

  test('a created task is read by its owner, and is working', async () => {
    const engine = await harness.engine()
    const { id } = newTask()
    const created = await engine.create(newTask({ id, ttlMs: 90_000 }))
    expect(created).toMatchObject({ id, tool: 'chore', status: 'working', ttlMs: 90_000 })
    expect(Math.abs(created.createdAt - Date.now())).toBeLessThan(60_000)
    expect(created.updatedAt).toBe(created.createdAt)
    expect([created.statusMessage, created.result, created.failure]).toEqual([undefined, undefined, undefined])
    expect(created.questions.size).toBe(0)
    expect(await engine.read(id, 'ann')).toEqual(created)
  })

  test('a task is unknown to another owner and to another audience', async () => {
    const [engine, elsewhere] = [await harness.engine(), await harness.engine({}, `other ${randomUUID()}`)]
    const { id } = await engine.create(newTask())
    for (const owner of ['bob', 'ANN', 'ann ', '']) {
      expect(await engine.read(id, owner)).toBeUndefined()
      expect(await engine.answer(id, owner, answering('a'))).toBeUndefined()
      expect(await engine.cancel(id, owner)).toBeUndefined()
    }
    expect(await elsewhere.read(id, 'ann')).toBeUndefined()
    expect(await elsewhere.cancel(id, 'ann')).toBeUndefined()
    expect(await engine.read(id, 'ann')).toMatchObject({ status: 'working' })
  })

  test.each(['', 'nonsense', `${'x'.repeat(10_000)}`, 'a\u0000b', '\ud800', '%', "' OR 1=1 --", '__proto__'])(
    'there is no task with the id %j',
    async (id) => {
      const engine = await harness.engine()
      await engine.create(newTask())
      expect(await engine.read(id, 'ann')).toBeUndefined()
      expect(await engine.answer(id, 'ann', answering('a'))).toBeUndefined()
      expect(await engine.cancel(id, 'ann')).toBeUndefined()
    },
  )

  test('owners differ in every character', async () => {
    const engine = await harness.engine()
    const owners = ['a', 'a\u0000', 'a\u0000b', '\ud800', '\udfff', '\ufffd', 'ä', '__proto__', '']
    const made = await Promise.all(owners.map((owner) => engine.create(newTask({ owner }))))
    for (const [at, owner] of owners.entries()) {
      const found = await Promise.all(made.map(({ id }) => engine.read(id, owner)))
      expect(found.map((task) => task !== undefined)).toEqual(owners.map((_, other) => other === at))
    }
  })

  test('a call that is sent twice makes one task', async () => {
    const [engine, other] = [await harness.engine(), await harness.engine()]
    const call = randomUUID()
    const send = (on: typeof engine) => on.create(newTask({ journal: newJournal(call) }))
    const first = await send(engine)
    const again = await Promise.all(Array.from({ length: 8 }, (_, turn) => send(turn % 2 ? engine : other)))
    expect(new Set(again.map(({ id }) => id))).toEqual(new Set([first.id]))
    expect((await engine.list('ann', undefined, 10)).tasks.map(({ id }) => id)).toEqual([first.id])
  })

  test('the same call of another owner or audience is another task', async () => {
    const [engine, elsewhere] = [await harness.engine(), await harness.engine({}, `other ${randomUUID()}`)]
    const journal = newJournal(randomUUID())
    const first = await engine.create(newTask({ journal }))
    expect((await engine.create(newTask({ journal, owner: 'bob' }))).id).not.toBe(first.id)
    expect((await elsewhere.create(newTask({ journal }))).id).not.toBe(first.id)
  })

  test('an expired task is unknown to everyone and is never leased', async () => {
    const engine = await harness.engine()
    const { id } = await engine.create(newTask({ ttlMs: 1 }))
    await vi.waitFor(async () => expect(await engine.read(id, 'ann')).toBeUndefined())
    expect(await engine.answer(id, 'ann', answering('a'))).toBeUndefined()
    expect(await engine.cancel(id, 'ann')).toBeUndefined()
    expect((await engine.list('ann', undefined, 10)).tasks).toEqual([])
    const { id: alive } = await engine.create(newTask())
    const worker = harness.worker(engine)
    expect((await worker.nextLease()).id).toBe(alive)
    expect(worker.untaken).toBe(0)
  })

  test('the call of an expired task makes a new one', async () => {
    const engine = await harness.engine()
    const journal = newJournal(randomUUID())
    const { id } = await engine.create(newTask({ journal, ttlMs: 1 }))
    await vi.waitFor(async () => expect(await engine.read(id, 'ann')).toBeUndefined())
    const renewed = await engine.create(newTask({ journal }))
    expect(renewed.id).not.toBe(id)
    expect(await engine.read(renewed.id, 'ann')).toMatchObject({ status: 'working' })
  })

  test('a task that waits for answers expires, too', async () => {
    const engine = await harness.engine()
    const { id } = await engine.create(newTask({ ttlMs: 2000 }))
    const lease = await harness.worker(engine).nextLease()
    await lease.ask([question('a')], undefined)
    expect(await engine.read(id, 'ann')).toMatchObject({ status: 'input_required' })
    await vi.waitFor(async () => expect(await engine.read(id, 'ann')).toBeUndefined())
    expect(await engine.answer(id, 'ann', answering('a'))).toBeUndefined()
  })

  test('a task may be given any time to live, and others are not harmed by it', async () => {
    const engine = await harness.engine()
    const lives = [Number.MAX_SAFE_INTEGER, 1e300, 86_400_000, 0.5, 0, -1]
    const made = await Promise.all(lives.map((ttlMs) => engine.create(newTask({ ttlMs }))))
    const found = await Promise.all(made.map(({ id }) => engine.read(id, 'ann')))
    expect(found.map((task) => task !== undefined).slice(0, 3)).toEqual([true, true, true])
    expect(found.slice(4)).toEqual([undefined, undefined])
  })

  test('a task without a TTL lives until it ends, and then for keepMs', async () => {
    const engine = await harness.engine({ keepMs: 300 })
    const { id } = await engine.create(newTask({ ttlMs: null }))
    const lease = await harness.worker(engine).nextLease()
    expect(await engine.read(id, 'ann')).toMatchObject({ ttlMs: null })
    await lease.end({ status: 'completed', result: {} })
    const ended = await engine.read(id, 'ann')
    expect(ended?.ttlMs).toBe((ended?.updatedAt ?? 0) + 300 - (ended?.createdAt ?? 0))
    await vi.waitFor(async () => expect(await engine.read(id, 'ann')).toBeUndefined())
  })
}
