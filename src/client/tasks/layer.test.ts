import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Loose, settled } from '../../../test/client/fixtures/fakeTransport.ts'
import { accept, envelope, form, Script, task, text } from '../../../test/client/fixtures/scriptedServer.ts'
import { proves } from '../../../test/proves.ts'
import type { Asked } from '../questions/answerer.ts'
import { suspend, suspendedOf } from '../suspend/suspend.ts'
import { taskOf } from './handle.ts'
import { tasks, type TasksOptions } from './layer.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const EXTENSION = 'io.modelcontextprotocol/tasks'

/** A server of 2026-07-28 whose one task goes through these looks, the last of them again and again. */
function modern(looks: readonly object[], options: TasksOptions = {}, first: object = task('working')) {
  let look = 0
  const script = new Script(tasks({ answerers: { form: () => accept({ name: 'Ann' }) }, ...options }), {
    'tools/call': () => ({ resultType: 'task', ...first }),
    'tasks/get': () => {
      const now = looks[Math.min(look++, looks.length - 1)]!
      return { resultType: 'complete', ...now }
    },
    'tasks/update': () => ({ resultType: 'complete' }),
    'tasks/cancel': () => ({ resultType: 'complete' }),
  })
  return script
}

/** Lets time pass, and everything happen that does then. */
async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
  await settled()
}

const done = task('completed', { result: text('done') })
const errorOf = (script: Script, id = 1): Loose => script.answer(id)?.error

describe('a call that becomes a task', () => {
  test('is answered with the result of the task, in the form of a call', async () => {
    const script = modern([task('working'), done])
    await script.call(1, envelope())
    await pass(1_000)
    expect(script.answer(1)).toEqual({ jsonrpc: '2.0', id: 1, result: { resultType: 'complete', ...text('done') } })
    expect(script.methods).toEqual(['tools/call', 'tasks/get', 'tasks/get'])
  })

  test('declares the extension and its answerers in each request of its own, beside what the client declares', async () => {
    const script = modern([done])
    await script.call(1, envelope({ roots: {} }, { progressToken: 1, traceparent: 'x' }))
    await pass(1_000)
    const said = { roots: {}, elicitation: { form: {} }, extensions: { [EXTENSION]: {} } }
    for (const { params } of script.wire.sent) {
      expect(params?.['_meta']).toMatchObject({ 'io.modelcontextprotocol/clientCapabilities': said })
    }
    expect(script.asked('tasks/get')[0]?.params).toEqual({ taskId: 't1', ...envelope(said) })
  })

  test('is looked at as often as the server wishes, also when that changes', async () => {
    const script = modern(
      [task('working', { pollIntervalMs: 200 }), task('working', { pollIntervalMs: 5_000 }), done],
      {},
      task('working', { pollIntervalMs: 3_000 }),
    )
    await script.call(1, envelope())
    const looks = () => script.asked('tasks/get').length
    await pass(2_999)
    expect(looks()).toBe(0)
    await pass(1)
    expect(looks()).toBe(1)
    await pass(200)
    expect(looks()).toBe(2)
    await pass(4_999)
    expect(looks()).toBe(2)
    await pass(1)
    expect(script.answer(1)).toHaveProperty('result')
  })

  test('is answered with the error of a task that failed, as it came', async () => {
    const error = { code: -32602, message: 'No such paper.', data: { size: 'A4' } }
    const script = modern([task('failed', { error })])
    await script.call(1, envelope())
    await pass(1_000)
    expect(errorOf(script)).toEqual(error)
  })

  test('is told when the task was cancelled', async () => {
    const script = modern([task('cancelled')])
    await script.call(1, envelope())
    await pass(1_000)
    expect(errorOf(script)).toMatchObject({ code: -32603, data: { code: 'TASK_CANCELLED', taskId: 't1' } })
  })

  test('is answered although the task was over when it came', async () => {
    const script = modern([done], {}, task('completed'))
    await script.call(1, envelope())
    await settled()
    expect(script.answer(1).result).toMatchObject(text('done'))
  })

  test('gets a result of many megabytes', async () => {
    const script = modern([task('completed', { result: text('x'.repeat(10_000_000)) })])
    await script.call(1, envelope())
    await pass(1_000)
    expect(script.answer(1).result.content[0].text).toHaveLength(10_000_000)
  })

  test('that does not become one passes as it is', async () => {
    const script = modern([])
    script.parts['tools/call'] = () => ({ resultType: 'complete', ...text('at once') })
    await script.call(1, envelope())
    await settled()
    expect(script.answer(1).result).toEqual({ resultType: 'complete', ...text('at once') })
    script.parts['tools/call'] = () => ({ error: { code: -32602, message: 'No.' } })
    await script.call(2, envelope())
    await settled()
    expect(errorOf(script, 2)).toEqual({ code: -32602, message: 'No.' })
  })
})

describe('what a task asks', () => {
  const asking = (requests: object) => task('input_required', { inputRequests: requests })

  test('is answered once for each key, however often it is seen, and with all that is asked at once', async () => {
    const asked: Asked[] = []
    const answerers = { form: (question: Asked) => (asked.push(question), accept({ key: question.key })) }
    const both = asking({ a: form('A?'), b: form('B?') })
    const script = modern([both, both, both, asking({ c: form('C?') }), done], { answerers })
    await script.call(1, envelope())
    await pass(10_000)
    expect(asked.map(({ key, call }) => [key, call])).toEqual([
      ['a', { method: 'tools/call', name: 'job' }],
      ['b', { method: 'tools/call', name: 'job' }],
      ['c', { method: 'tools/call', name: 'job' }],
    ])
    expect(script.asked('tasks/update').map(({ params }) => [params?.['taskId'], params?.['inputResponses']])).toEqual([
      ['t1', { a: accept({ key: 'a' }), b: accept({ key: 'b' }) }],
      ['t1', { c: accept({ key: 'c' }) }],
    ])
    expect(script.answer(1).result).toMatchObject(text('done'))
  })

  test('is taken back from the answerer when somebody else has answered, and what it says then is not sent', async () => {
    let signal: AbortSignal | undefined
    let release: (answer: Loose) => void = () => undefined
    const answerers = {
      form: (question: Asked) => ((signal = question.signal), new Promise<Loose>((resolve) => (release = resolve))),
    }
    const script = modern([asking({ a: form() }), task('working')], { answerers })
    await script.call(1, envelope())
    await pass(250)
    expect(signal?.aborted).toBe(false)
    await pass(1_000)
    expect([signal?.aborted, script.answer(1)]).toEqual([true, undefined])
    release(accept())
    await pass(1_000)
    expect(script.asked('tasks/update')).toEqual([])
    script.parts['tasks/get'] = () => done
    await pass(10_000)
    expect(script.answer(1).result).toMatchObject(text('done'))
  })

  test('stays with the answerer while the task waits', async () => {
    const signals: AbortSignal[] = []
    let release: (answer: Loose) => void = () => undefined
    const answerers = {
      form: (question: Asked) => (signals.push(question.signal), new Promise<Loose>((resolve) => (release = resolve))),
    }
    const script = modern([], { answerers })
    script.parts['tasks/get'] = () => (script.asked('tasks/update').length > 0 ? done : asking({ a: form() }))
    await script.call(1, envelope())
    await pass(300_000)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
    release(accept())
    await pass(10_000)
    expect(script.asked('tasks/update')).toHaveLength(1)
    expect(script.answer(1).result).toMatchObject(text('done'))
  })

  test('never reaches another task, with many of them in any order', async () => {
    const ids = Array.from({ length: 50 }, (_, index) => index + 1)
    const given = new Map<string, Loose>()
    const answerers = { form: async ({ request }: Asked) => accept({ said: (request.params as Loose).message }) }
    const script = modern([], { answerers })
    const of = (taskId: string, status: string, more: object = {}) =>
      task(status, { taskId, pollIntervalMs: 100 + (Number(taskId.slice(1)) % 7) * 30, ...more })
    script.parts['tools/call'] = (_, { id }) => ({ resultType: 'task', ...of(`t${id}`, 'working') })
    script.parts['tasks/get'] = ({ taskId }) => {
      const said = given.get(taskId)
      if (said === undefined) return of(taskId, 'input_required', { inputRequests: { q: form(`of ${taskId}`) } })
      return of(taskId, 'completed', { result: text(`${taskId} heard ${said}`) })
    }
    script.parts['tasks/update'] = ({ taskId, inputResponses }) => (
      given.set(taskId, inputResponses.q.content.said), {}
    )
    await Promise.all(ids.map((id) => script.call(id, envelope())))
    await pass(5_000)
    expect(ids.map((id) => script.answer(id)?.result.content[0].text)).toEqual(
      ids.map((id) => `t${id} heard of t${id}`),
    )
    expect(script.asked('tasks/update')).toHaveLength(50)
  })

  test('ends the call when it cannot be answered', async () => {
    const answerers = {
      form: () => {
        throw new Error('nobody there')
      },
    }
    const script = modern([asking({ a: form() })], { answerers })
    await script.call(1, envelope())
    await pass(1_000)
    expect(errorOf(script)).toMatchObject({
      data: { code: 'ANSWER_FAILED', cause: new Error('nobody there'), taskId: 't1' },
    })
  })

  test('goes to a client of the stateless revision where there is no answerer, and its retry brings the answers', async () => {
    const script = modern([asking({ a: form() }), asking({ a: form() }), done], { answerers: {} })
    await script.call(1, envelope({ elicitation: { form: {} } }))
    await pass(1_000)
    const { resultType, inputRequests, requestState } = script.answer(1).result
    expect([resultType, inputRequests]).toEqual(['input_required', { a: form() }])
    await script.call(2, { ...envelope(), requestState, inputResponses: { a: accept({ name: 'Bo' }) } })
    await pass(1_000)
    expect(script.asked('tools/call')).toHaveLength(1)
    expect(script.asked('tasks/update')[0]?.params).toMatchObject({
      taskId: 't1',
      inputResponses: { a: accept({ name: 'Bo' }) },
    })
    expect(script.answer(2).result).toMatchObject(text('done'))
  })

  test('that is suspended leaves the task waiting, and the saved call goes on with it', async () => {
    const answerers = { form: ({ key }: Asked) => (key === 'a' ? suspend()({} as never) : accept({ name: 'Bo' })) }
    const script = modern([asking({ a: form(), b: form() }), done], { answerers })
    await script.call(1, { ...envelope(), arguments: { n: 1 } })
    await pass(1_000)
    const saved = suspendedOf(script.answer(1).result)?.saved
    expect(saved).toMatchObject({
      method: 'tools/call',
      params: { name: 'job', arguments: { n: 1 } },
      inputRequests: { a: form() },
      inputResponses: { b: accept({ name: 'Bo' }) },
      requestState: expect.stringContaining('t1'),
    })
    expect(script.asked('tasks/update')).toEqual([])
    expect(script.asked('tasks/cancel')).toEqual([])
    const later = modern([done])
    const { params, requestState, inputResponses } = saved!
    await later.call(9, { ...params, ...envelope(), requestState, inputResponses: { ...inputResponses, a: accept() } })
    await pass(1_000)
    expect(later.methods).toEqual(['tasks/update', 'tasks/get'])
    expect(later.asked('tasks/update')[0]?.params?.['inputResponses']).toEqual({
      a: accept(),
      b: accept({ name: 'Bo' }),
    })
    expect(later.answer(9).result).toMatchObject(text('done'))
  })
})

describe('a caller that gives up', () => {
  proves('MRTR-32', 'cancels its task, by a notification and by the end of its stream', async () => {
    const script = modern([task('working')])
    await script.call(1, envelope())
    await pass(500)
    await script.above.send({ method: 'notifications/cancelled', params: { requestId: 1 } })
    await settled()
    expect(script.methods.slice(-1)).toEqual(['tasks/cancel'])
    const stream = new AbortController()
    await script.call(2, envelope(), { requestSignal: stream.signal })
    await pass(500)
    stream.abort()
    await settled()
    expect(script.asked('tasks/cancel').map(({ params }) => params?.['taskId'])).toEqual(['t1', 't1'])
    const looks = script.asked('tasks/get').length
    await pass(60_000)
    expect(script.asked('tasks/get')).toHaveLength(looks)
    expect(script.asked('notifications/cancelled')).toEqual([])
    expect([script.answer(1), script.answer(2)]).toEqual([undefined, undefined])
  })

  test('before the task was made cancels the call, and the task that came all the same', async () => {
    const script = modern([])
    script.parts['tools/call'] = () => undefined
    await script.call(1, envelope())
    await script.above.send({ method: 'notifications/cancelled', params: { requestId: 1 } })
    expect(script.methods).toEqual(['tools/call', 'notifications/cancelled'])
    script.say({ id: 1, result: { resultType: 'task', ...task('working') } })
    await settled()
    expect(script.methods.slice(-1)).toEqual(['tasks/cancel'])
    expect(script.answer(1)).toBeUndefined()
  })

  test('takes the question back', async () => {
    let signal: AbortSignal | undefined
    const answerers = { form: (question: Asked) => ((signal = question.signal), new Promise<never>(() => {})) }
    const script = modern([task('input_required', { inputRequests: { a: form() } })], { answerers })
    await script.call(1, envelope())
    await pass(1_000)
    await script.above.send({ method: 'notifications/cancelled', params: { requestId: 1 } })
    expect(signal?.aborted).toBe(true)
  })

  test('by closing the connection cancels no task', async () => {
    const script = modern([task('working')])
    await script.call(1, envelope())
    await pass(500)
    await script.above.transport.close()
    await pass(60_000)
    expect(script.asked('tasks/cancel')).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })
})

test('a caller whose connection is lost is told the id of its task, which goes on', async () => {
  const script = modern([task('working')])
  await script.call(1, envelope())
  await pass(500)
  script.wire.onclose?.()
  await pass(60_000)
  expect(script.above.heard).toMatchObject([
    { id: 1, error: { data: { code: 'TASK_UNREACHABLE', taskId: expect.any(String) } } },
  ])
  expect(script.asked('tasks/cancel')).toEqual([])
})

test('patience is a time', () => {
  expect(() => modern([], { patienceMs: Number.NaN })).toThrow('"patienceMs" must be a number of milliseconds')
})

describe('what the caller hears meanwhile', () => {
  test('is progress with growing numbers, after what the server itself told', async () => {
    const looks = [task('working', { statusMessage: 'half' }), task('working', { statusMessage: 'half' }), done]
    const script = modern(looks, {}, task('working', { statusMessage: 'begun' }))
    const [answer] = [script.parts['tools/call']!]
    script.parts['tools/call'] = () => undefined
    await script.call(1, envelope({}, { progressToken: 1 }))
    script.say({ method: 'notifications/progress', params: { progressToken: 1, progress: 2.5, total: 10 } })
    script.say({ id: 1, result: answer({}, script.wire.sent[0]!) })
    await pass(10_000)
    const progress = script.above.heard
      .filter(({ method }) => method === 'notifications/progress')
      .map(({ params }) => params)
    expect(progress.map(({ progressToken, progress: number, message }) => [progressToken, number, message])).toEqual([
      [1, 2.5, undefined],
      [1, 3, 'begun'],
      [1, 4, 'half'],
      [1, 5, undefined],
    ])
  })

  test('is each change of the status, by the option, and a listener that throws is reported', async () => {
    const heard: unknown[] = []
    const onStatus = (now: { status: string; statusMessage?: string }, call: unknown) => {
      heard.push([now.status, now.statusMessage, call])
      throw new Error('not today')
    }
    const script = modern([task('working'), task('working', { statusMessage: 'half' }), done], { onStatus })
    await script.call(1, envelope())
    await pass(10_000)
    const call = { method: 'tools/call', name: 'job' }
    expect(heard).toEqual([
      ['working', undefined, call],
      ['working', 'half', call],
      ['completed', undefined, call],
    ])
    expect(script.above.faults).toHaveLength(3)
    expect(script.answer(1).result).toMatchObject(text('done'))
  })
})

describe('a handle in place of the result', () => {
  test('has the task as it came, and nothing is followed', async () => {
    const created = task('working', { pollIntervalMs: 5_000, 'x-more': 1 })
    const script = modern([], { handle: true }, created)
    await script.call(1, envelope())
    await pass(60_000)
    const { result } = script.answer(1)
    expect(result).toMatchObject({
      resultType: 'complete',
      isError: true,
      _meta: { 'dev.pannier/task': { 'x-more': 1 } },
    })
    expect(taskOf(result)).toMatchObject({ taskId: 't1', status: 'working', pollIntervalMs: 5_000 })
    expect(script.methods).toEqual(['tools/call'])
  })

  test('is found in no other result', () => {
    for (const result of [undefined, {}, text('done'), { _meta: {} }]) expect(taskOf(result)).toBeUndefined()
  })
})
