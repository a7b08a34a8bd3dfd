import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { TaskEngine } from '../../../src/tasks/engine.ts'
import { keysOf, newTask, question, type ContractHarness } from './harness.ts'

export function declareLists(harness: ContractHarness): void {
  test('a list has the tasks of its owner alone, newest first', async () => {
    const [engine, elsewhere] = [await harness.engine(), await harness.engine({}, `other ${randomUUID()}`)]
    const mine = await createThree(engine)
    await engine.create(newTask({ owner: 'bob' }))
    await elsewhere.create(newTask())
    expect(await engine.list('ann', undefined, 10)).toMatchObject({ next: undefined })
    expect((await engine.list('ann', undefined, 10)).tasks.map(({ id }) => id)).toEqual(mine.toReversed())
    expect(await engine.list('nobody', undefined, 10)).toEqual({ tasks: [], next: undefined })
  })

  test('a list shows each task as it is read', async () => {
    const engine = await harness.engine()
    const { id } = await engine.create(newTask())
    const lease = await harness.worker(engine).nextLease()
    await lease.ask([question('a'), question('b')], undefined)
    const [listed] = (await engine.list('ann', undefined, 10)).tasks
    expect(keysOf(listed)).toEqual(['a', 'b'])
    expect(listed).toEqual(await engine.read(id, 'ann'))
  })

  test('paging visits every task once, also while tasks are added', async () => {
    const engine = await harness.engine()
    const ids = [...(await createThree(engine)), ...(await createThree(engine))].toReversed()
    const seen: string[] = []
    let after: string | undefined
    do {
      const page = await engine.list('ann', after, 2)
      expect(page.tasks).toHaveLength(2)
      seen.push(...page.tasks.map(({ id }) => id))
      after = page.next
      await engine.create(newTask())
    } while (after !== undefined)
    expect(seen).toEqual(ids)
  })

  test('a page ends early if results are large, and the next page continues there', async () => {
    const engine = await harness.engine()
    const ids = [...(await createThree(engine)), ...(await createThree(engine))].toReversed()
    const worker = harness.worker(engine)
    const end = { status: 'completed', result: { text: 'x'.repeat(4_190_000) } } as const
    for (const _ of ids) await (await worker.nextLease()).end(end)
    const first = await engine.list('ann', undefined, 100)
    expect(first.tasks.map(({ id }) => id)).toEqual(ids.slice(0, 3))
    const second = await engine.list('ann', first.next, 100)
    expect(second.tasks.map(({ id }) => id)).toEqual(ids.slice(3))
    expect(second.next).toBeUndefined()
  })

  test('a cursor that is not a task of the owner is refused', async () => {
    const engine = await harness.engine()
    const foreign = await engine.create(newTask({ owner: 'bob' }))
    for (const after of [foreign.id, randomUUID(), '', 'a\u0000']) {
      await expect(engine.list('ann', after, 10)).rejects.toMatchObject({ code: 'TASK_CURSOR_UNKNOWN' })
    }
  })
}

/** One after the other, so that their order is known. */
async function createThree(engine: TaskEngine): Promise<string[]> {
  const ids: string[] = []
  for (let count = 0; count < 3; count++) ids.push((await engine.create(newTask())).id)
  return ids
}
