import { expect, test, vi } from 'vitest'
import { ServerFault } from '../layer/ownRequests.ts'
import { CONTROL_METHODS, isControlRequest, runControlRequest } from './requests.ts'
import type { TaskDialect } from './dialects.ts'

const task = { taskId: 'one', status: 'working', ttlMs: null } as const

function dialect(): TaskDialect & { readonly answer: ReturnType<typeof vi.fn<TaskDialect['answer']>> } {
  return {
    taskId: 'one',
    read: async () => task,
    follow: async () => task,
    answer: vi.fn<TaskDialect['answer']>(async () => {}),
    cancel: async () => {},
  }
}

const { signal } = new AbortController()
const request = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params: { ...params } })
const run = (method: string, to: TaskDialect, params?: object) => runControlRequest(request(method, params), to, signal)

test('a task is read, answered and cancelled', async () => {
  const server = dialect()
  expect(await run(CONTROL_METHODS.get, server)).toMatchObject({ id: 1, result: { resultType: 'complete', task } })
  const inputResponses = { a: {} }
  expect(await run(CONTROL_METHODS.answer, server, { inputResponses })).toMatchObject({ result: {} })
  await run(CONTROL_METHODS.answer, server, { inputResponses: 5 })
  expect(server.answer.mock.calls).toEqual([
    [inputResponses, signal],
    [{}, signal],
  ])
  const cancel = vi.spyOn(server, 'cancel')
  expect(await run(CONTROL_METHODS.cancel, server)).toMatchObject({ result: {} })
  expect(cancel).toHaveBeenCalledOnce()
})

test.each([
  ['an unknown method', new ServerFault({ code: -32601, message: 'No.' }), 'TASKS_MISSING'],
  ['the status 404', Object.assign(new Error('no'), { code: 404 }), 'TASKS_MISSING'],
  ['the status 500', Object.assign(new Error('no'), { code: 500 }), 'TASK_UNREACHABLE'],
  ['a failure of the network', new Error('no'), 'TASK_UNREACHABLE'],
])('a server that answers with %s', async (_, error, code) => {
  const message = await run(CONTROL_METHODS.get, { ...dialect(), read: () => Promise.reject(error) })
  expect(message).toMatchObject({ id: 1, error: { data: { code } } })
})

test('an error of the server is passed on as it came', async () => {
  const fault = new ServerFault({ code: -32602, message: 'There is no such task.' })
  const message = await run(CONTROL_METHODS.cancel, { ...dialect(), cancel: () => Promise.reject(fault) })
  expect(message['error']).toEqual({ code: -32602, message: 'There is no such task.' })
})

test('only its own methods are control requests', () => {
  const all = [...Object.values(CONTROL_METHODS), 'tasks/get'].map((method) => isControlRequest(request(method)))
  expect(all).toEqual([true, true, true, false])
})
