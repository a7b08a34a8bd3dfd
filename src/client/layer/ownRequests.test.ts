import { describe, expect, test, vi } from 'vitest'
import type { Json } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import type { LayerContext } from './layer.ts'
import { httpStatusOf, isOwnId, isTransient, OwnRequests, ServerFault } from './ownRequests.ts'

const plain = { envelope: undefined, hasStream: false }
const never = new AbortController().signal

function begin(send: (message: Json, options?: unknown) => Promise<void> = async () => {}) {
  const sent: { message: Json; options: unknown }[] = []
  const context = {
    send: (message: Json, options: unknown) => {
      sent.push({ message, options })
      return send(message, options)
    },
  }
  const closed = vi.fn(() => new Error('closed'))
  const requests = new OwnRequests(context as unknown as LayerContext, closed)
  const respond = (more: object) => requests.receive({ jsonrpc: '2.0', id: String(sent[0]?.message['id']), ...more })
  return { requests, sent, closed, respond }
}

describe('a request of a layer', () => {
  test('has an id of its own, and gives the result', async () => {
    const { requests, sent, respond } = begin()
    const result = requests.request('tasks/get', { taskId: 't' }, plain, never)
    expect(isOwnId(sent[0]?.message['id'])).toBe(true)
    expect(sent).toMatchObject([{ message: { method: 'tasks/get', params: { taskId: 't' } }, options: undefined }])
    respond({ result: { a: 1 } })
    expect(await result).toEqual({ a: 1 })
  })

  test('that is refused gives the error of the server', async () => {
    const { requests, respond } = begin()
    const result = requests.request('tasks/get', {}, plain, never)
    respond({ error: { code: -1, message: 'no', data: 7 } })
    await expect(result).rejects.toMatchObject({ name: 'ServerFault', code: -1, message: 'no', data: 7 })
    const second = begin()
    const odd = second.requests.request('tasks/get', {}, plain, never)
    second.respond({})
    await expect(odd).rejects.toMatchObject({ code: 0, message: 'The server gave no reason.' })
  })

  test('is answered with questions only where it asks for a result', async () => {
    const asks = { resultType: 'input_required', inputRequests: {} }
    for (const [method, isAllowed] of [
      ['tasks/get', false],
      ['tasks/result', true],
    ] as const) {
      const { requests, respond } = begin()
      const result = requests.request(method, {}, plain, never)
      respond({ result: asks })
      if (isAllowed) expect(await result).toEqual(asks)
      else await expect(result).rejects.toBeInstanceOf(ClientError)
    }
  })

  test('that cannot be sent is over, and nothing is left of it when the connection is closed', async () => {
    const { requests, closed } = begin(() => Promise.reject(new Error('cut')))
    await expect(requests.request('tasks/get', {}, plain, never)).rejects.toThrow('cut')
    requests.rejectAll()
    expect(closed).not.toHaveBeenCalled()
  })

  test('that is open when the connection is closed is rejected once', async () => {
    const { requests, closed, respond } = begin()
    const result = requests.request('tasks/get', {}, plain, never)
    requests.rejectAll()
    await expect(result).rejects.toThrow('closed')
    requests.rejectAll()
    respond({ result: {} })
    expect(closed).toHaveBeenCalledTimes(1)
  })

  test('that is answered is forgotten', async () => {
    const { requests, closed, respond } = begin()
    const result = requests.request('tasks/get', {}, plain, never)
    respond({ result: {} })
    await result
    requests.rejectAll()
    expect(closed).not.toHaveBeenCalled()
  })

  test('is not sent for somebody who has left already', async () => {
    const { requests, sent } = begin()
    const gone = AbortSignal.abort(new Error('left'))
    await expect(requests.request('tasks/get', {}, plain, gone)).rejects.toThrow('left')
    expect(sent).toEqual([])
  })

  test.each([
    ['a message', false],
    ['the end of its stream', true],
  ])('is cancelled by %s', async (_, hasStream) => {
    const { requests, sent, closed } = begin()
    const caller = new AbortController()
    const result = requests.request('tasks/get', {}, { envelope: { v: 1 }, hasStream }, caller.signal)
    const { requestSignal } = (sent[0]?.options ?? {}) as { requestSignal?: AbortSignal }
    caller.abort(new Error('left'))
    await expect(result).rejects.toThrow('left')
    expect(requestSignal?.aborted).toBe(hasStream ? true : undefined)
    const id = sent[0]?.message['id']
    const cancelled = { method: 'notifications/cancelled', params: { requestId: id, _meta: { v: 1 } } }
    expect(sent.slice(1).map(({ message }) => message)).toMatchObject(hasStream ? [] : [cancelled])
    requests.rejectAll()
    expect(closed).not.toHaveBeenCalled()
  })

  test('hears nothing any more of a caller who leaves after the answer', async () => {
    const { requests, sent, respond } = begin()
    const caller = new AbortController()
    const result = requests.request('tasks/get', {}, plain, caller.signal)
    respond({ result: {} })
    await result
    caller.abort()
    expect(sent).toHaveLength(1)
  })
})

test.each<[string, boolean, unknown]>([
  ['an internal error', true, new ServerFault({ code: -32603 })],
  ['another error', false, new ServerFault({ code: -32602 })],
  ['a stream that ended', true, new ClientError('STREAM_ENDED', 'x')],
  ['an error of ours', false, new ClientError('CONFIG_INVALID', 'x')],
  ['a cut connection', true, new TypeError('fetch failed')],
  ['HTTP 500', true, { status: 500 }],
  ['HTTP 499', false, { status: 499 }],
  ['HTTP 408', true, { status: 408 }],
  ['HTTP 429', true, { code: 429 }],
])('%s may be gone the next time: %s', (_, expected, error) => {
  expect(isTransient(error)).toBe(expected)
})

test.each<[unknown, number | undefined]>([
  [{ status: 400 }, 400],
  [{ status: 399 }, undefined],
  [{ code: 599 }, 599],
  [{ code: 600 }, undefined],
  [{ code: '404' }, undefined],
  ['404', undefined],
])('the HTTP status in %j is %s', (error, status) => {
  expect(httpStatusOf(error)).toBe(status)
})
