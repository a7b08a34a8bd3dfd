/** Hearing of tasks by `notifications/tasks`, and what happens where nobody tells. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { settled } from '../../../test/client/fixtures/fakeTransport.ts'
import { accept, envelope, form, Script, task, text } from '../../../test/client/fixtures/scriptedServer.ts'
import { tasks, type TasksOptions } from './layer.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
  await settled()
}

const POLL = { pollIntervalMs: 1_000 }
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

function modern(options: TasksOptions = {}): Script {
  return new Script(tasks({ answerers: { form: () => accept() }, ...options }), {
    'tools/call': (_, { id }) => ({ resultType: 'task', ...task('working', { taskId: `t${id}`, ...POLL }) }),
    'tasks/get': ({ taskId }) => task('working', { taskId, ...POLL }),
    'tasks/update': () => ({}),
    'tasks/cancel': () => ({}),
  })
}

const streams = (script: Script) => script.asked('subscriptions/listen')

function acknowledge(script: Script, notifications: object, stream = streams(script).at(-1)?.id): void {
  script.say({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications, _meta: { [SUBSCRIPTION]: stream } },
  })
}

function tell(script: Script, now: object, stream = streams(script).at(-1)?.id): void {
  script.say({ method: 'notifications/tasks', params: { ...now, _meta: { [SUBSCRIPTION]: stream } } })
}

const ended = (taskId: string) => task('completed', { taskId, result: text(`${taskId} done`) })

test('a task is followed by what the server tells, and hardly looked at', async () => {
  const script = modern()
  await script.call(1, envelope())
  await pass(100)
  expect(streams(script)[0]?.params).toMatchObject({ notifications: { taskIds: ['t1'] } })
  expect(streams(script)[0]?.params?.['_meta']).toHaveProperty(['io.modelcontextprotocol/protocolVersion'])
  acknowledge(script, { taskIds: ['t1'] })
  await settled()
  expect(script.asked('tasks/get')).toHaveLength(1) // what happened before it listened
  await pass(10_000)
  expect(script.asked('tasks/get')).toHaveLength(1)
  tell(script, task('input_required', { inputRequests: { a: form() } }))
  await settled()
  expect(script.asked('tasks/update')).toHaveLength(1)
  tell(script, ended('t1'))
  await settled()
  expect(script.answer(1).result).toMatchObject(text('t1 done'))
  expect(script.above.heard.map(({ method }) => method)).toEqual([undefined])
})

test('tasks that begin together share a stream, and the stream ends with the last of them', async () => {
  const script = modern()
  const stream = new AbortController()
  for (const id of [1, 2, 3]) await script.call(id, envelope(), { requestSignal: stream.signal })
  await pass(100)
  expect(streams(script).map(({ params }) => params?.['notifications'])).toEqual([{ taskIds: ['t1', 't2', 't3'] }])
  const index = script.wire.sent.indexOf(streams(script)[0]!)
  const { requestSignal } = script.wire.options[index] as { requestSignal: AbortSignal }
  acknowledge(script, { taskIds: ['t1', 't2', 't3'] })
  for (const id of [1, 2, 3]) {
    expect(requestSignal.aborted).toBe(false)
    tell(script, ended(`t${id}`))
    await settled()
    expect(script.answer(id).result).toMatchObject(text(`t${id} done`))
  }
  expect(requestSignal.aborted).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

test('a later task opens a new stream for all, and the old one is closed once that is there', async () => {
  const script = modern()
  await script.call(1, envelope())
  await pass(100)
  acknowledge(script, { taskIds: ['t1'] })
  await script.call(2, envelope())
  await pass(100)
  const [first, second] = streams(script)
  expect(second?.params?.['notifications']).toEqual({ taskIds: ['t1', 't2'] })
  expect(script.asked('notifications/cancelled')).toEqual([])
  tell(script, task('working', { statusMessage: 'still here' }), first?.id)
  acknowledge(script, { taskIds: ['t1', 't2'] })
  expect(script.asked('notifications/cancelled').map(({ params }) => params?.['requestId'])).toEqual([first?.id])
  tell(script, ended('t1'), first?.id) // too late, on a stream that is closed
  await settled()
  expect(script.above.heard).toEqual([])
  tell(script, ended('t1'))
  await settled()
  expect(script.answer(1).result).toMatchObject(text('t1 done'))
})

test.each<[string, (script: Script) => void]>([
  [
    'has no such method',
    (script) => script.say({ id: streams(script)[0]?.id, error: { code: -32601, message: 'No.' } }),
  ],
  ['agrees to other things only', (script) => acknowledge(script, { toolsListChanged: true })],
])('a server that %s is looked at, and asked for it once', async (_, answer) => {
  const script = modern()
  await script.call(1, envelope())
  await pass(100)
  answer(script)
  await script.call(2, envelope())
  await pass(3_000)
  expect(script.asked('tasks/get').length).toBeGreaterThanOrEqual(6)
  script.parts['tasks/get'] = ({ taskId }) => ended(taskId)
  await pass(1_000)
  expect([1, 2].map((id) => script.answer(id).result)).toMatchObject([text('t1 done'), text('t2 done')])
  expect(streams(script)).toHaveLength(1)
})

test('a server that says nothing to it is looked at', async () => {
  const script = modern()
  await script.call(1, envelope())
  await pass(3_500)
  expect(script.asked('tasks/get')).toHaveLength(3)
})

test('a server that cannot be asked for it is looked at', async () => {
  const script = modern()
  script.parts['subscriptions/listen'] = () => {
    throw Object.assign(new Error('Error POSTing to endpoint'), { status: 404 })
  }
  await script.call(1, envelope())
  await pass(2_100)
  expect(script.asked('tasks/get').length).toBeGreaterThanOrEqual(2)
  await script.call(2, envelope())
  await pass(2_000)
  expect(streams(script)).toHaveLength(1)
})

test('a stream that ends is opened again, and meanwhile the task is looked at', async () => {
  const script = modern()
  await script.call(1, envelope())
  await pass(100)
  acknowledge(script, { taskIds: ['t1'] })
  await pass(5_000)
  const looks = script.asked('tasks/get').length
  script.say({ id: streams(script)[0]?.id, result: { resultType: 'complete' } })
  await pass(1_100)
  expect(script.asked('tasks/get').length).toBeGreaterThan(looks)
  expect(streams(script)).toHaveLength(2)
  acknowledge(script, { taskIds: ['t1'] })
  tell(script, ended('t1'))
  await settled()
  expect(script.answer(1).result).toMatchObject(text('t1 done'))
})

test('what is told of a task that nobody follows, and what cannot be read, breaks nothing', async () => {
  const script = modern()
  await script.call(1, envelope())
  await pass(100)
  acknowledge(script, { taskIds: ['t1', 't9', 7] })
  await settled()
  tell(script, ended('t9'))
  tell(script, { taskId: 't1', status: 'dancing' })
  tell(script, {})
  await settled()
  expect(script.answer(1)).toBeUndefined()
  tell(script, ended('t1'))
  await settled()
  expect(script.answer(1).result).toMatchObject(text('t1 done'))
})

test('what is older than what was seen counts for nothing', async () => {
  const script = modern()
  script.parts['tasks/get'] = () =>
    task('working', { ...POLL, statusMessage: 'new', lastUpdatedAt: '2026-01-01T00:00:10Z' })
  await script.call(1, envelope({}, { progressToken: 1 }))
  await pass(100)
  acknowledge(script, { taskIds: ['t1'] })
  await settled()
  tell(script, task('input_required', { inputRequests: { a: form() }, lastUpdatedAt: '2026-01-01T00:00:05Z' }))
  await settled()
  expect(script.asked('tasks/update')).toEqual([])
  expect(script.above.heard.at(-1)?.params?.message).toBe('new')
})

test('subscriptions of the client itself are none of our business', async () => {
  const script = modern()
  script.say({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: {}, _meta: { [SUBSCRIPTION]: 7 } },
  })
  script.say({ method: 'notifications/tasks', params: { ...task('working'), _meta: { [SUBSCRIPTION]: 7 } } })
  expect(script.above.heard).toHaveLength(2)
})
