import { expect, test, vi } from 'vitest'
import type { TaskEngine, TaskRecord } from '../engine.ts'
import { listenToTasks } from './notifications.ts'

const record = (id: string) =>
  ({
    id,
    status: 'working',
    createdAt: 0,
    updatedAt: 0,
    ttlMs: null,
    questions: new Map(),
    approvers: new Map(),
  }) as unknown as TaskRecord

test('of very many tasks one is read at a time, and none to find out whether it is there', async () => {
  let [reads, reading, most] = [0, 0, 0]
  const engine: Pick<TaskEngine, 'existing' | 'read' | 'watch'> = {
    existing: async (ids) => ids.filter((id) => id !== 'none'),
    read: async (id) => {
      reads++
      most = Math.max(most, ++reading)
      for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve))
      reading--
      return record(id)
    },
    watch: () => () => {},
  }
  const taskIds = ['none', ...Array.from({ length: 50 }, (_, at) => `task ${at}`), 'task 3']
  const sent: unknown[] = []
  const send = (task: Record<string, unknown>) => void sent.push(task['taskId'])
  const listening = await listenToTasks(engine as TaskEngine, {
    owner: 'ann',
    viewer: { peer: {} as never, principal: undefined },
    host: { mayAnswer: () => false },
    taskIds,
    send,
    pollMs: 1000,
  })
  expect([listening.taskIds.length, reads]).toEqual([50, 0])
  listening.begin()
  await expect.poll(() => sent.length).toBe(50)
  expect([reads, most]).toEqual([50, 1])
  listening.stop()
})

/** Listens to one task, which the test changes. */
async function listening() {
  let notify = (): void => {}
  let read: () => Promise<TaskRecord | undefined> = async () => record('one')
  const unwatch = vi.fn<() => void>()
  const engine: Pick<TaskEngine, 'existing' | 'read' | 'watch'> = {
    existing: async (ids) => [...ids],
    read: () => read(),
    watch: (_, listener) => {
      notify = listener
      return unwatch
    },
  }
  const sent: unknown[] = []
  const listened = await listenToTasks(engine as TaskEngine, {
    owner: 'ann',
    viewer: { peer: {} as never, principal: undefined },
    host: { mayAnswer: () => false },
    taskIds: ['one'],
    send: (task) => void sent.push(task['statusMessage']),
    pollMs: 1000,
  })
  const set = (next: typeof read) => void (read = next)
  return { listened, sent, unwatch, set, notify: () => notify() }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
const saying = (statusMessage: string) => async () => ({ ...record('one'), statusMessage })

test('a change is sent, and what looks the same is not sent again', async () => {
  const { listened, sent, set, notify } = await listening()
  listened.begin()
  await turn()
  notify()
  await turn()
  expect(sent).toEqual([undefined])
  set(saying('half'))
  notify()
  await turn()
  expect(sent).toEqual([undefined, 'half'])
  listened.stop()
})

test('changes while a task is read are sent together, after that', async () => {
  const { listened, sent, set, notify } = await listening()
  const slow = Promise.withResolvers<TaskRecord>()
  const reads = vi.fn(() => slow.promise)
  set(reads)
  listened.begin()
  notify()
  notify()
  set(saying('newest'))
  slow.resolve({ ...record('one'), statusMessage: 'old' })
  await turn()
  expect([sent, reads.mock.calls.length]).toEqual([['old', 'newest'], 1])
  listened.stop()
})

test('a store that is away, or a task that is gone, is no end: the next change is sent', async () => {
  const { listened, sent, set, notify } = await listening()
  set(() => Promise.reject(new Error('away')))
  listened.begin()
  await turn()
  set(async () => undefined)
  notify()
  await turn()
  set(saying('again'))
  notify()
  await turn()
  expect(sent).toEqual(['again'])
  listened.stop()
})

test('nothing is sent after the stop, also of what is being read', async () => {
  const { listened, sent, set, unwatch } = await listening()
  const slow = Promise.withResolvers<TaskRecord>()
  set(() => slow.promise)
  listened.begin()
  listened.stop()
  slow.resolve(record('one'))
  await turn()
  expect([sent, unwatch.mock.calls.length]).toEqual([[], 1])
})
