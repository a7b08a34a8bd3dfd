import { describe, expect, test, vi } from 'vitest'
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Json } from '../../protocol/index.ts'
import type { Call } from '../../server/index.ts'
import type { TaskEngine, TaskRecord } from '../engine.ts'
import type { DialectOptions } from './dialect.ts'
import { answerCarried, type PushOptions, pushQuestions } from './pushedQuestions.ts'
import type { FoundTask } from './view.ts'

const roots: InputRequest = { method: 'roots/list' }
const form: InputRequest = {
  method: 'elicitation/create',
  params: { message: 'Sure?', requestedSchema: { type: 'object', properties: {} }, _meta: { mine: 1 } },
}
const _meta = { 'io.modelcontextprotocol/related-task': { taskId: 'one' } }

/** Questions that are pushed to a client, which answers by `answers`. */
function begin(
  questions: Record<string, InputRequest>,
  push?: (request: InputRequest, asking: Json) => Promise<unknown>,
) {
  const open = new Map(Object.entries(questions))
  const task = { id: 'one', questions: new Map(open) } as Partial<TaskRecord> as TaskRecord
  let notify = (): void => {}
  const unwatch = vi.fn<() => void>()
  const engine: Partial<TaskEngine> = {
    watch: (_, listener) => {
      notify = listener
      return unwatch
    },
  }
  const stored: Json[] = []
  const options: PushOptions = {
    answer: async (responses) => void stored.push(responses),
    mayAnswer: (key, { principal }) => key === 'a' && principal?.id === 'bob',
    read: async () => ({ ...task, questions: open }),
    carried: { id: 'carried', body: () => ({}) },
    signal: new AbortController().signal,
  }
  const call = { channel: { push } } as unknown as Call
  const pushed = pushQuestions(engine as TaskEngine, call, task, options)
  return { pushed, stored, open, unwatch, notify: () => notify() }
}

describe('questions of a task', () => {
  test('go to the client as they are, with the name of the task, and each answer is stored under its key', async () => {
    const sent: [InputRequest, Json][] = []
    const { pushed, stored, unwatch } = begin({ a: roots, b: form }, async (request, asking) => {
      sent.push([request, asking])
      return { for: request.method }
    })
    await pushed
    expect(sent.map(([request]) => request)).toEqual([
      { method: 'roots/list', params: { _meta } },
      { method: form.method, params: { ...form.params, _meta: { mine: 1, ..._meta } } },
    ])
    expect(stored).toEqual([{ a: { for: 'roots/list' } }, { b: { for: 'elicitation/create' } }])
    await vi.waitFor(() => expect(unwatch).toHaveBeenCalled())
  })

  test('are asked as what their request carries, of whoever may answer', async () => {
    const askings: Json[] = []
    await begin({ a: roots }, async (_, asking) => void askings.push(asking)).pushed
    const [asking] = askings
    expect(asking).toMatchObject({ id: 'carried', key: 'a', body: expect.any(Function) })
    const mayAnswer = asking?.['mayAnswer'] as (answerer: object) => boolean
    expect([mayAnswer({ principal: { id: 'bob' } }), mayAnswer({ principal: { id: 'ann' } })]).toEqual([true, false])
  })

  test('need no answer any more once all of them are answered elsewhere', async () => {
    const { pushed, open, notify, stored } = begin({ a: roots, b: roots }, () => new Promise(() => {}))
    const settled = vi.fn<() => void>()
    const waiting = pushed.then(settled)
    open.delete('a')
    notify()
    await new Promise((resolve) => setImmediate(resolve))
    expect(settled).not.toHaveBeenCalled()
    open.delete('b')
    await vi.waitFor(() => {
      notify()
      expect(settled).toHaveBeenCalled()
    })
    await waiting
    expect(stored).toEqual([])
  })

  test('that cannot be asked, or whose answer cannot be had, fail the request', async () => {
    await expect(begin({ a: roots }).pushed).rejects.toMatchObject({ code: 'MESSAGE_INVALID' })
    const gone = new Error('gone')
    await expect(begin({ a: roots }, () => Promise.reject(gone)).pushed).rejects.toBe(gone)
  })
})

test.each<[string, Partial<Call>, number]>([
  ['of a request that was resumed elsewhere are taken', { resumed: {} as never, params: { inputResponses: {} } }, 1],
  ['of a request that was not are none', { params: { inputResponses: {} } }, 0],
  ['that are no object are none', { resumed: {} as never, params: { inputResponses: 'x' } }, 0],
])('answers %s', async (_, call, times) => {
  const answer = vi.fn<TaskEngine['answer']>(async () => undefined)
  const options = { engine: async () => ({ answer }), host: { assertMayCall() {} } } as unknown as DialectOptions
  const found = {
    task: { id: 'one', questions: new Map(), approvers: new Map() },
    isOwner: true,
  } as unknown as FoundTask
  await answerCarried(options, call as Call, found)
  expect(answer).toHaveBeenCalledTimes(times)
})
