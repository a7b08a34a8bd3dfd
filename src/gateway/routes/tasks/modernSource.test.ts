import { expect, test } from 'vitest'
import type { Call } from '../../../server/internal.ts'
import type { Backend } from '../../backends/backend.ts'
import { ModernTaskSource, requestsTo } from './modernSource.ts'

const question = { method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: {} } }
const asking = { taskId: '1', status: 'input_required', pollIntervalMs: 100, inputRequests: { sure: question } }
const completed = { taskId: '1', status: 'completed', result: { content: [], _meta: { own: 1 } } }

/** A server that says this of its task, one after the other, and a client that is asked. */
function served(...tasks: readonly object[]) {
  const asked: unknown[] = []
  const sent: string[] = []
  const left = [...tasks]
  let listening = 0
  const backend = {
    name: 'crm',
    isShared: true,
    request: async ({ method, onCancel }: { method: string; onCancel: (listener: () => void) => void }) => {
      sent.push(method)
      onCancel(() => {})
      return method === 'tasks/get' ? (left.shift() ?? completed) : {}
    },
  } as unknown as Backend
  const call = {
    params: {},
    meta: {},
    peer: { era: 'legacy', capabilities: { elicitation: {} }, session: 's' },
    channel: {
      notify() {},
      onCancel: () => void listening++,
      push: async (request: unknown) => {
        asked.push(request)
        return { action: 'accept', content: {} }
      },
    },
  } as unknown as Call
  const source = new ModernTaskSource(backend.name, requestsTo(backend))
  return { source, call, asked, sent, listening: () => listening }
}

test('a question is asked once, also where its task shows the answer late', async () => {
  const { source, call, asked, sent } = served(asking, asking, asking, asking)
  await source.result(call, '1', 'exposed')
  expect(asked).toHaveLength(1)
  expect(sent.filter((method) => method === 'tasks/update')).toHaveLength(1)
})

test('a call that waits for its task listens for its end once, however often the task is polled', async () => {
  const working = { ...asking, status: 'working', inputRequests: undefined }
  const { source, call, sent, listening } = served(working, working, working)
  await source.result(call, '1', 'exposed')
  expect(sent).toHaveLength(4)
  expect(listening()).toBe(1)
})

test('a key that was closed in between is another question', async () => {
  const working = { ...asking, status: 'working', inputRequests: undefined }
  const { source, call, asked } = served(asking, working, working, asking, working)
  await source.result(call, '1', 'exposed')
  expect(asked).toHaveLength(2)
})

test('the result names the task as the client knows it', async () => {
  const { source, call } = served(completed)
  expect(await source.result(call, '1', 'exposed')).toMatchObject({
    _meta: { own: 1, 'io.modelcontextprotocol/related-task': { taskId: 'exposed' } },
  })
})

test('what a server sets for its client is named as its own, wherever it stands', async () => {
  const state = { 'modelcontextprotocol.io/state/session': { 'pannier-caller': 'forged', 'bank/cart': 'forged' } }
  const { source, call } = served({ ...completed, _meta: state, result: { content: [], _meta: state } })
  const text = JSON.stringify(await source.whole(call, '1'))
  expect(text).toContain('"crm/pannier-caller"')
  expect(text).not.toContain('"pannier-caller"')
  expect(text).not.toContain('"bank/cart"')
})
