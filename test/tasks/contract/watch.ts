import { expect, test, vi } from 'vitest'
import type { TaskEngine, TaskRecord } from '../../../src/tasks/engine.ts'
import { answering, newTask, question, type ContractHarness } from './harness.ts'

/** Who watches a task learns of every change, whoever makes it. */
export function declareWatch(stage: ContractHarness): void {
  test.each(['this process', 'another process'])('every change of a task by %s is noticed', async (by) => {
    const engine = await stage.engine()
    const watching = by === 'this process' ? engine : await stage.engine()
    const { id } = await engine.create(newTask())
    const follow = follower(stage, watching, id)
    const hand = stage.worker(engine)
    const lease = await hand.nextLease()

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
    await (await hand.nextLease()).end({ status: 'completed', result: {} })
    await follow(({ status }) => status === 'completed')
  })

  test('a cancellation is noticed', async () => {
    const [engine, watching] = [await stage.engine(), await stage.engine()]
    const { id } = await engine.create(newTask())
    const follow = follower(stage, watching, id)
    await engine.cancel(id, 'ann')
    await follow(({ status }) => status === 'cancelled')
  })

  test('whoever has stopped watching is not called any more', async () => {
    const engine = await stage.engine()
    const { id } = await engine.create(newTask())
    const [stays, goes] = [vi.fn<() => void>(), vi.fn<() => void>()]
    stage.onTestEnd(engine.watch(id, stays))
    const stop = engine.watch(id, goes)
    stop()
    stop()
    await engine.cancel(id, 'ann')
    await vi.waitFor(() => expect(stays).toHaveBeenCalled())
    expect(goes).not.toHaveBeenCalled()
  })

  test('whoever leaves twice takes nobody else along', async () => {
    const engine = await stage.engine()
    const { id } = await engine.create(newTask())
    const stop = engine.watch(id, () => {})
    stop()
    const later = vi.fn<() => void>()
    stage.onTestEnd(engine.watch(id, later))
    stop()
    await engine.cancel(id, 'ann')
    await vi.waitFor(() => expect(later).toHaveBeenCalled(), { timeout: 5000 })
  })

  test('a listener that throws harms neither the engine nor other listeners', async () => {
    const engine = await stage.engine()
    const { id } = await engine.create(newTask())
    const calm = vi.fn<() => void>()
    const stop = engine.watch(id, () => {
      throw new Error('I am a listener')
    })
    stage.onTestEnd(stop)
    stage.onTestEnd(engine.watch(id, calm))
    expect(await engine.cancel(id, 'ann')).toMatchObject({ status: 'cancelled' })
    await vi.waitFor(() => expect(calm).toHaveBeenCalled())
  })
}

/** Waits, led by the watch alone, until the task is as wanted. */
function follower(stage: ContractHarness, engine: TaskEngine, id: string) {
  let changed: () => void = () => {}
  stage.onTestEnd(engine.watch(id, () => changed()))
  return async (wanted: (task: TaskRecord) => boolean): Promise<void> => {
    for (;;) {
      const change = new Promise<void>((resolve) => (changed = resolve))
      const task = await engine.read(id, 'ann')
      if (task !== undefined && wanted(task)) return
      await change
    }
  }
}
