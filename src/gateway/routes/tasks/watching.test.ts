import { expect, test, vi } from 'vitest'
import { CODES, ProtocolError, RemoteError } from '../../../protocol/index.ts'
import { BackendError } from '../../errors.ts'
import { watchTasks } from './watching.ts'

const working = { taskId: 'a', status: 'working', pollIntervalMs: 250 }
const completed = { taskId: 'a', status: 'completed', result: {} }

/** What a subscriber hears while the reads give this, one after the other. */
async function heardOf(...reads: readonly (object | Error)[]): Promise<unknown[]> {
  vi.useFakeTimers()
  const heard: unknown[] = []
  const left = [...reads]
  const read = async (): Promise<never> => {
    const next = left.shift() ?? completed
    if (next instanceof Error) throw next
    return next as never
  }
  const watching = watchTasks(['a'], read, (task) => heard.push(task['status']), new AbortController().signal)
  await vi.runAllTimersAsync()
  await watching
  vi.useRealTimers()
  return heard
}

test('a change is told once, until the end', async () => {
  expect(await heardOf(working, working, completed)).toEqual(['working', 'completed'])
})

test('a server that cannot be reached for a while is asked again', async () => {
  const away = new BackendError('BACKEND_INVALID', 'crm', 'answered HTTP 503.')
  const lost = new BackendError('BACKEND_LOST', 'crm', 'gave no answer.', { cause: new Error('reset') })
  expect(await heardOf(working, away, lost, completed)).toEqual(['working', 'completed'])
})

test.each([
  new ProtocolError('PARAMS_INVALID', 'There is no task with this id, or it has expired.'),
  new RemoteError(CODES.INVALID_PARAMS, 'Unknown task.'),
  new BackendError('BACKEND_LOST', 'crm', 'had this task in a session or process that has ended.'),
])('a task that is gone is asked for no more: %s', async (error) => {
  expect(await heardOf(working, error, completed)).toEqual(['working'])
})
