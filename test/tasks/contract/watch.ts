import { expect, test, vi } from 'vitest'
import type { TaskEngine, TaskRecord } from '../../../src/tasks/engine.ts'
import { answering, newTask, question, type ContractHarness } from './harness.ts'

/** A listener of a task is called after every change, whichever process makes it. */
export function declareWatch(harness: ContractHarness): void {
  test.each(['this process', 'another process'])('every change of a task by %s is noticed', async (by) => {
    const engine = await harness.engine()
    const watching = by === 'this process' ? engine : await harness.engine()
    const { id } = await engine.create(newTask())
    const follow = follower(harness, watching, id)
    const worker = harness.worker(engine)
    const lease = await worker.nextLease()

    await lease.note('begun')
    await follow(({ statusMessage }) => statusMessage === 'begun')
    await lease.ask([question('a'), question('b')], undefined)
    await follow(({ questions }) => questions.size === 2)
    await engine.answer(id, 'ann', answering('a'))
    await follow(({ questions }) => questions.size === 1)
    await engine.answer(id, 'ann', { accepted: new Map(), refused: new Set(['b']) })
    await follow(({ questions }) => questions.has('b~2'))
    await engine.answer(id, 'ann', answering('b~2'))
    await follow(({ status }) => status === 'working')
    await (await worker.nextLease()).end({ status: 'completed', result: {} })
    await follow(({ status }) => status === 'completed')
  })

  test('a cancellation is noticed', async () => {
    const [engine, watching] = [await harness.engine(), await harness.engine()]
    const { id } = await engine.create(newTask())
    const follow = follower(harness, watching, id)
    await engine.cancel(id, 'ann')
    await follow(({ status }) => status === 'cancelled')
  })

  test('a listener that was removed is not called again', async () => {
    const engine = await harness.engine()
    const { id } = await engine.create(newTask())
    const [stays, goes] = [vi.fn<() => void>(), vi.fn<() => void>()]
    harness.onTestEnd(engine.watch(id, stays))
    const stop = engine.watch(id, goes)
    stop()
    stop()
    await engine.cancel(id, 'ann')
    await vi.waitFor(() => expect(stays).toHaveBeenCalled())
    expect(goes).not.toHaveBeenCalled()
  })

  test('removing a listener twice removes no other', async () => {
    const engine = await harness.engine()
    const { id } = await engine.create(newTask())
    const stop = engine.watch(id, () => {})
    stop()
    const later = vi.fn<() => void>()
    harness.onTestEnd(engine.watch(id, later))
    stop()
    await engine.cancel(id, 'ann')
    await vi.waitFor(() => expect(later).toHaveBeenCalled())
  })

  test('a listener that throws harms neither the engine nor other listeners', async () => {
    const engine = await harness.engine()
    const { id } = await engine.create(newTask())
    const other = vi.fn<() => void>()
    const stop = engine.watch(id, () => {
      throw new Error('I am a listener')
    })
    harness.onTestEnd(stop)
    harness.onTestEnd(engine.watch(id, other))
    expect(await engine.cancel(id, 'ann')).toMatchObject({ status: 'cancelled' })
    await vi.waitFor(() => expect(other).toHaveBeenCalled())
  })
}

/** Waits until the task meets a condition; reads it only when the watch reports a change. */
function follower(harness: ContractHarness, engine: TaskEngine, id: string) {
  let changed: () => void = () => {}
  harness.onTestEnd(engine.watch(id, () => changed()))
  return async (wanted: (task: TaskRecord) => boolean): Promise<void> => {
    for (;;) {
      const change = new Promise<void>((resolve) => (changed = resolve))
      const task = await engine.read(id, 'ann')
      if (task !== undefined && wanted(task)) return
      await change
    }
  }
}
