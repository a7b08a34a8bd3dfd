/** Tasks in a session: in the dialect of SEP-2322, message by message, and in that of 2025-11-25 as published. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Loose, settled } from '../../../test/client/fixtures/fakeTransport.ts'
import { accept, form, Script, task, text } from '../../../test/client/fixtures/scriptedServer.ts'
import { proves } from '../../../test/proves.ts'
import { sep } from '../../../test/documents/fixtures/sep2322.ts'
import type { Asked } from '../questions/answerer.ts'
import { compose } from '../layer/layer.ts'
import { deadline } from '../layer/deadline.ts'
import { tasks, type TasksOptions } from './layer.ts'
import type { Layer } from '../layer/transport.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
  await settled()
}

const TASKS = { tasks: { requests: { tools: { call: {} } } } }
const ROUNDS = { experimental: { 'dev.pannier/rounds': {} } }
const RELATED = 'io.modelcontextprotocol/related-task'
const tool = (name: string, taskSupport?: string) => ({
  name,
  inputSchema: {},
  ...(taskSupport && { execution: { taskSupport } }),
})

interface Session {
  readonly options?: TasksOptions
  readonly server?: object
  readonly parts?: Script['parts']
  readonly below?: Layer
}

async function session({
  options = {},
  server = { ...TASKS, ...ROUNDS },
  parts = {},
  below = compose(),
}: Session = {}): Promise<Script> {
  const script = new Script(
    compose(tasks({ answerers: { form: () => accept({ input: 'Hello World!' }) }, ...options }), below),
    {
      initialize: () => ({
        protocolVersion: '2025-11-25',
        capabilities: server,
        serverInfo: { name: 's', version: '1' },
      }),
      'tools/list': () => ({ tools: [tool('job', 'required'), tool('echo', 'optional'), tool('plain')] }),
      ...parts,
    },
  )
  await script.above.send({ id: 0, method: 'initialize', params: { capabilities: ROUNDS } })
  await settled()
  script.wire.sent.length = 0
  script.above.heard.length = 0
  return script
}

proves(
  'MRTR-30 MRTR-31 MRTR-33 MRTR-35',
  'the client asks what SEP-2322 prints, and its caller gets the echo',
  async () => {
    const exchanges = [...sep.echo]
    const requests: Loose[] = []
    const play = (_: Loose, message: Loose) => {
      requests.push(message)
      return (exchanges.shift() as Loose).answer.result
    }
    const parts = { 'tools/call': play, 'tasks/get': play, 'tasks/result': play, 'tasks/input_response': play }
    const script = await session({ options: { optional: true, ttlMs: 60_000 }, parts })
    await script.above.send({ id: 1, method: 'tools/call', params: { name: 'echo' } })
    await pass(1_000)
    const withoutId = ({ method, params }: Loose) => ({ method, params })
    expect(requests.map(withoutId)).toEqual(sep.echo.map(({ request }) => withoutId(request)))
    expect(new Set(requests.map(({ id }) => id)).size).toBe(6)
    expect(script.answer(1).result).toEqual((sep.echo.at(-1) as Loose).answer.result)
  },
)

describe('which calls ask to become tasks', () => {
  const lost = () => {
    throw new TypeError('fetch failed')
  }
  const parts = { 'tools/call': () => text('done') }

  test.each<[string, TasksOptions, boolean]>([
    ['job', {}, true],
    ['echo', {}, false],
    ['echo', { optional: true }, true],
    ['plain', { optional: true }, false],
    ['nothing', { optional: true }, false],
  ])('a call of "%s" with the options %o: %s', async (name, options, asks) => {
    const script = await session({ options, parts })
    await script.call(1, { name })
    await settled()
    expect(script.methods).toEqual(['tools/list', 'tools/call'])
    expect(script.asked('tools/call')[0]?.params?.['task']).toEqual(asks ? { ttl: 86_400_000 } : undefined)
    expect(script.answer(1).result).toEqual(text('done'))
  })

  test('a round of a call that becomes a task has its own answers, which the task is not sent', async () => {
    const asPart = { 'tasks/get': () => task('completed'), 'tasks/result': () => text('done') }
    const script = await session({ parts: { ...asPart, 'tools/call': () => ({ task: task('completed') }) } })
    await script.call(1, { inputResponses: { name: accept() }, requestState: 'of the server' })
    await pass(1_000)
    expect(script.asked('tasks/input_response')).toEqual([])
    expect(script.answer(1).result).toMatchObject(text('done'))
  })

  test('none where the server has no tasks for calls, and nothing is asked about that', async () => {
    for (const server of [{}, { tasks: {} }, { tasks: { requests: { tools: {} } } }]) {
      const script = await session({ server, parts })
      await script.call(1)
      expect(script.methods).toEqual(['tools/call'])
      expect(script.asked('tools/call')[0]?.params).not.toHaveProperty('task')
    }
  })

  test('none that asks for a task itself: its client follows it', async () => {
    const script = await session({ parts: { 'tools/call': () => ({ task: task('working') }) } })
    await script.call(1, { task: { ttl: 7 } })
    await pass(60_000)
    expect(script.asked('tools/call')[0]?.params?.['task']).toEqual({ ttl: 7 })
    expect(script.answer(1).result).toEqual({ task: task('working') })
    expect(script.methods).toEqual(['tools/call'])
  })

  test('a list that the client reads is learned from, page by page, and read again when it has changed', async () => {
    const pages: Record<string, object> = {
      first: { tools: [tool('job', 'required')], nextCursor: 'second' },
      second: { tools: [tool('other', 'required')] },
    }
    const list = ({ cursor = 'first' }: Loose) => pages[cursor] as object
    const script = await session({ parts: { ...parts, 'tools/list': list } })
    await script.above.send({ id: 1, method: 'tools/list', params: {} })
    await settled()
    await script.call(2)
    await script.call(3, { name: 'other' })
    await settled()
    expect(script.methods).toEqual(['tools/list', 'tools/call', 'tools/list', 'tools/list', 'tools/call'])
    pages['first'] = { tools: [tool('job')] }
    script.say({ method: 'notifications/tools/list_changed' })
    await script.call(4)
    await settled()
    expect(script.asked('tools/call').map(({ params }) => 'task' in params!)).toEqual([true, true, false])
  })

  test('a tool that runs only as a task is listed as one that can be called either way', async () => {
    const script = await session()
    await script.above.send({ id: 1, method: 'tools/list', params: {} })
    await settled()
    const support = script.answer(1).result.tools.map(({ name, execution }: Loose) => [name, execution?.taskSupport])
    expect(support).toEqual([
      ['job', 'optional'],
      ['echo', 'optional'],
      ['plain', undefined],
    ])
  })

  test('a list that never ends is given up, and the call goes out', async () => {
    const script = await session({ parts: { ...parts, 'tools/list': () => ({ tools: [], nextCursor: 'more' }) } })
    await script.call(1)
    await settled()
    await settled()
    expect(script.asked('tools/list').length).toBeLessThanOrEqual(100)
    expect(script.asked('tools/call')).toHaveLength(1)
  })

  test.each<[string, () => object]>([
    ['cannot be sent', lost],
    ['an instance fails to answer', () => ({ error: { code: -32603, message: 'Internal error.' } })],
  ])('a list that %s is read again before the call goes out', async (_, fails) => {
    let tries = 0
    const list = () => (++tries < 3 ? fails() : { tools: [tool('job', 'required')] })
    const script = await session({ parts: { ...parts, 'tools/list': list } })
    void script.call(1)
    await pass(5_000)
    expect(tries).toBe(3)
    expect(script.asked('tools/call').map(({ params }) => 'task' in params!)).toEqual([true])
  })

  test('where nobody is there to list the tools, the call is not sent, and fails with the reason', async () => {
    const script = await session({ parts: { ...parts, 'tools/list': lost } })
    const failed = script.call(1).catch(String)
    await pass(60_000)
    expect(await failed).toContain('fetch failed')
    expect(script.asked('tools/call')).toEqual([])
  })

  test('where a server cannot list its tools, the call goes out', async () => {
    const list = () => ({ error: { code: -32603, message: 'Internal error.' } })
    const script = await session({ parts: { ...parts, 'tools/list': list } })
    void script.call(1)
    await pass(60_000)
    expect(script.answer(1).result).toEqual(text('done'))
  })

  test('a call that is cancelled while the list is read is not sent', async () => {
    const script = await session({ parts: { 'tools/list': () => undefined } })
    const calling = script.call(1)
    await script.above.send({ method: 'notifications/cancelled', params: { requestId: 1 } })
    script.say({ id: script.asked('tools/list')[0]?.id, result: { tools: [tool('job', 'required')] } })
    await calling
    expect(script.asked('tools/call')).toEqual([])
  })
})

describe('in the dialect of SEP-2322', () => {
  const created = () => ({ task: { ...task('working'), pollInterval: 200 } })
  const asks = (key: string) => ({ resultType: 'input_required', inputRequests: { [key]: form() } })

  test('what is asked is read once while somebody thinks about it, and again when something else is asked', async () => {
    const answers: ((answer: Loose) => void)[] = []
    const keys: string[] = []
    const answerers = {
      form: ({ key }: Asked) => (keys.push(key), new Promise<Loose>((resolve) => answers.push(resolve))),
    }
    let [status, key] = ['input_required', 'a']
    const parts = {
      'tools/call': created,
      'tasks/get': () => ({ ...task(status), pollInterval: 200 }),
      'tasks/result': () => (status === 'completed' ? text('done') : asks(key)),
      'tasks/input_response': () => ((status = 'completed'), {}),
    }
    const script = await session({ options: { answerers }, parts })
    await script.call(1)
    await pass(2_000)
    expect(script.asked('tasks/result')).toHaveLength(1)
    status = 'working' // somebody else has answered
    await pass(200)
    ;[status, key] = ['input_required', 'b']
    await pass(2_000)
    expect(script.asked('tasks/result')).toHaveLength(2)
    expect(keys).toEqual(['a', 'b'])
    for (const answer of answers) answer(accept({ input: 'B' }))
    await pass(1_000)
    expect(script.asked('tasks/input_response').map(({ params }) => params?.['inputResponses'])).toEqual([
      { b: accept({ input: 'B' }) },
    ])
    expect(script.answer(1).result).toMatchObject(text('done'))
  })

  test('a server that speaks the newer dialect elsewhere is talked to in that of the session', async () => {
    const server = { ...TASKS, ...ROUNDS, extensions: { 'io.modelcontextprotocol/tasks': {} } }
    const parts = { 'tools/call': created, 'tasks/get': () => task('completed'), 'tasks/result': () => text('done') }
    const script = await session({ server, parts })
    await script.call(1)
    await pass(1_000)
    expect(script.methods).toEqual(['tools/list', 'tools/call', 'tasks/get', 'tasks/result'])
    expect(script.answer(1).result).toMatchObject(text('done'))
  })
})

describe('in the dialect as published', () => {
  const created = () => ({ task: { ...task('working'), ttl: 60_000, pollInterval: 200 } })

  test('the result is waited for while the questions come as requests, and the status is still told', async () => {
    const statuses = ['working', 'input_required', 'working', 'completed']
    const parts = {
      'tools/call': created,
      'tasks/get': () => ({ ...task(statuses.length > 1 ? statuses.shift()! : statuses[0]!), pollInterval: 200 }),
      'tasks/result': () => undefined,
    }
    const heard: string[] = []
    const asked: Asked[] = []
    const answerers = { form: (question: Asked) => (asked.push(question), accept({ name: 'Ann' })) }
    const script = await session({
      server: TASKS,
      parts,
      options: { answerers, onStatus: ({ status }) => void heard.push(status) },
    })
    await script.call(1)
    await pass(400)
    expect(script.asked('tasks/result')).toHaveLength(1)
    const params = { ...form().params, _meta: { [RELATED]: { taskId: 't1' } } }
    script.say({ id: 'q1', method: 'elicitation/create', params })
    await pass(200)
    expect(script.wire.sent.find(({ id }) => id === 'q1')?.result).toEqual(accept({ name: 'Ann' }))
    expect(asked[0]).toMatchObject({ key: 'q1', call: { method: 'tools/call', name: 'job' }, server: { name: 's' } })
    expect(heard).toEqual(['working', 'input_required', 'working'])
    script.say({
      id: script.asked('tasks/result')[0]?.id,
      result: { ...text('done'), _meta: { [RELATED]: { taskId: 't1' } } },
    })
    await settled()
    expect(script.answer(1).result).toMatchObject(text('done'))
    expect(script.asked('tasks/result')).toHaveLength(1)
  })

  test('questions that belong to no task of ours go to the client', async () => {
    const script = await session({ server: TASKS })
    script.say({ id: 'q1', ...form() })
    script.say({ id: 'q2', ...form(), params: { ...form().params, _meta: { [RELATED]: { taskId: 't9' } } } })
    expect(script.above.heard.map(({ id }) => id)).toEqual(['q1', 'q2'])
  })

  test('a server that is silent while the task waits is asked for the result again', async () => {
    const parts = {
      'tools/call': created,
      'tasks/get': () => ({ ...task('input_required'), pollInterval: 1_000 }),
      'tasks/result': () => undefined,
    }
    const script = await session({ server: TASKS, parts, below: deadline(5_000) })
    await script.call(1)
    await pass(12_500)
    const results = script.asked('tasks/result')
    expect(results).toHaveLength(3)
    script.say({ id: results.at(-1)?.id, result: text('done') })
    await settled()
    expect(script.answer(1).result).toMatchObject(text('done'))
  })

  test('a task that failed gives what its result gives: an error, or a result that says so', async () => {
    const error = { code: -32602, message: 'No paper.' }
    for (const [outcome, answer] of [
      [{ error }, { error }],
      [
        { ...text('No paper.'), isError: true },
        { result: { ...text('No paper.'), isError: true, resultType: 'complete' } },
      ],
    ] as const) {
      const parts = { 'tools/call': created, 'tasks/get': () => task('failed'), 'tasks/result': () => outcome }
      const script = await session({ server: TASKS, parts })
      await script.call(1)
      await pass(1_000)
      expect(script.answer(1)).toEqual({ jsonrpc: '2.0', id: 1, ...answer })
    }
  })

  test('a task that was cancelled is told to be, without asking for its result', async () => {
    const script = await session({
      server: TASKS,
      parts: { 'tools/call': created, 'tasks/get': () => task('cancelled') },
    })
    await script.call(1)
    await pass(1_000)
    expect(script.answer(1).error).toMatchObject({ data: { code: 'TASK_CANCELLED' } })
    expect(script.asked('tasks/result')).toEqual([])
  })

  proves(
    'MRTR-36',
    'a status notification is a reason to look, and without any the layer looks by itself',
    async () => {
      const ends = { at: 'working' }
      const parts = {
        'tools/call': () => ({ task: { ...task('working'), pollInterval: 60_000 } }),
        'tasks/get': () => task(ends.at),
        'tasks/result': () => text('done'),
      }
      const [told, untold] = [await session({ server: TASKS, parts }), await session({ server: TASKS, parts })]
      for (const script of [told, untold]) await script.call(1)
      await settled()
      ends.at = 'completed'
      told.say({ method: 'notifications/tasks/status', params: task('completed') })
      await settled()
      expect(told.answer(1).result).toMatchObject(text('done'))
      expect(told.above.heard[0]?.method).toBe('notifications/tasks/status')
      expect(untold.above.heard).toEqual([])
      await pass(60_000)
      expect(untold.answer(1).result).toMatchObject(text('done'))
    },
  )

  test('a server that refuses to give the result ends the call with its error', async () => {
    const parts = {
      'tools/call': created,
      'tasks/get': () => task('input_required'),
      'tasks/result': () => ({ error: { code: -32600, message: 'This connection cannot carry a question.' } }),
    }
    const script = await session({ server: TASKS, parts })
    await script.call(1)
    await pass(60_000)
    expect(script.answer(1).error).toEqual({ code: -32600, message: 'This connection cannot carry a question.' })
  })

  test('a task that has ended and then asks is none', async () => {
    const asks = { resultType: 'input_required', inputRequests: { a: form() } }
    const parts = { 'tools/call': created, 'tasks/get': () => task('completed'), 'tasks/result': () => asks }
    const script = await session({ parts })
    await script.call(1)
    await pass(1_000)
    expect(script.answer(1).error).toMatchObject({ data: { code: 'TASK_INVALID' } })
  })

  proves('MRTR-32', 'a caller that gives up cancels the task, and what it waits for', async () => {
    const parts = {
      'tools/call': created,
      'tasks/get': () => task('input_required'),
      'tasks/cancel': () => task('cancelled'),
    }
    const script = await session({ server: TASKS, parts })
    await script.call(1)
    await pass(1_000)
    await script.above.send({ method: 'notifications/cancelled', params: { requestId: 1 } })
    await settled()
    const waited = script.asked('tasks/result')[0]?.id
    expect(script.asked('notifications/cancelled').map(({ params }) => params?.['requestId'])).toEqual([waited])
    expect(script.asked('tasks/cancel').map(({ params }) => params)).toEqual([{ taskId: 't1' }])
  })
})
