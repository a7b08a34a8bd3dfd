import { expect, test } from 'vitest'
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
      await new Promise((resolve) => setImmediate(resolve))
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
