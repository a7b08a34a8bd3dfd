import { expect, test } from 'vitest'
import type { Task } from '../../client/index.ts'
import { statusText, taskText } from './tasks.ts'

const task = (status: Task['status'], more: Partial<Task> = {}): Task => ({
  taskId: 't1',
  status,
  ttlMs: null,
  ...more,
})

test.each<[Task, string]>([
  [task('working'), 'Task: working'],
  [task('working', { statusMessage: 'page 3\nof 7 \u001b[31m' }), 'Task: working, page 3 of 7 \ufffd[31m'],
  [task('input_required', { statusMessage: 'call tasks/result' }), 'Task: waits for an answer'],
  [
    task('input_required', { statusMessage: 'It waits for\n\u001b[31m role:manager.' }),
    'Task: waits for \ufffd[31m role:manager',
  ],
  [task('failed', { statusMessage: 'No paper.' }), 'Task: failed, No paper.'],
])('%o is "%s"', (now, line) => {
  expect(statusText(now)).toBe(line)
})

test('all of a task is shown, and nothing of it steers a terminal', () => {
  const question = {
    method: 'elicitation/create',
    params: {
      message: 'For\u001b[2J whom?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string', description: 'In\u001b full' } } },
    },
  } as const
  const asks = task('input_required', {
    createdAt: '2026-01-01T00:00:00Z',
    ttlMs: 60_000,
    inputRequests: { whom: question },
  })
  expect(taskText(asks)).toBe(
    'Task: waits for an answer\n  made 2026-01-01T00:00:00Z, kept for 60 s\n  whom: For\ufffd[2J whom?\n    name?: string  In\ufffd full',
  )
  const failed = task('failed', { error: { code: -32602, message: 'No\nTask: done' } })
  expect(taskText(failed)).toBe('Task: failed\nerror -32602: No\n  Task: done')
})
