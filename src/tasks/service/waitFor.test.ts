import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { TaskEngine, TaskRecord } from '../engine.ts'
import { waitForTask } from './waitFor.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A wait until the task is completed, which it becomes with `status`. */
function begin(signal: AbortSignal = new AbortController().signal) {
  let status: TaskRecord['status'] | undefined = 'working'
  let notify: (() => void) | undefined
  const engine: Partial<TaskEngine> = {
    watch: (_, listener) => {
      notify = listener
      return () => (notify = undefined)
    },
  }
  const read = vi.fn(async () => (status === undefined ? undefined : ({ status } as TaskRecord)))
  const settled = vi.fn<(task: TaskRecord | undefined) => void>()
  const until = (task: TaskRecord): boolean => task.status === 'completed'
  const waiting = waitForTask(engine as TaskEngine, { id: 'one', read, until, signal }).then(settled)
  const set = (next: typeof status): void => void (status = next)
  return { set, read, settled, waiting, notify: () => notify?.(), isWatching: () => notify !== undefined }
}

const soon = () => vi.advanceTimersByTimeAsync(0)

test('a wait ends when the task is as wanted, and reads it only when it has changed', async () => {
  const { set, read, settled, waiting, notify, isWatching } = begin()
  await soon()
  notify()
  await soon()
  expect([read.mock.calls.length, settled.mock.calls.length]).toEqual([2, 0])
  set('completed')
  notify()
  await waiting
  expect([settled.mock.calls, isWatching(), vi.getTimerCount()]).toEqual([[[{ status: 'completed' }]], false, 0])
})

test('a change during a read is not missed', async () => {
  const { set, read, settled, notify } = begin()
  read.mockImplementationOnce(async () => {
    set('completed')
    notify()
    return { status: 'working' } as TaskRecord
  })
  await soon()
  notify()
  await soon()
  expect(settled).toHaveBeenCalledWith({ status: 'completed' })
})

test('a task of which nobody is told is looked at every ten seconds', async () => {
  const { set, read, settled } = begin()
  await soon()
  set(undefined)
  await vi.advanceTimersByTimeAsync(9_999)
  expect([read.mock.calls.length, settled.mock.calls.length]).toEqual([1, 0])
  await vi.advanceTimersByTimeAsync(1)
  expect(settled.mock.calls).toEqual([[undefined]])
})

test('a wait ends at once with its signal, and leaves nothing behind', async () => {
  const abort = new AbortController()
  const { settled, isWatching } = begin(abort.signal)
  await soon()
  abort.abort()
  await soon()
  expect([settled.mock.calls, isWatching(), vi.getTimerCount()]).toEqual([[[undefined]], false, 0])
  const late = begin(abort.signal)
  await soon()
  expect(late.settled.mock.calls).toEqual([[undefined]])
})
