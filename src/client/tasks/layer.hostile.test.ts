/** Servers that break the rules of tasks, or break down: every call comes to an end, with a sentence that says why. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Loose, settled } from '../../../test/client/fixtures/fakeTransport.ts'
import { accept, envelope, form, Script, task, text } from '../../../test/client/fixtures/scriptedServer.ts'
import { proves } from '../../../test/proves.ts'
import { compose } from '../layer/layer.ts'
import { deadline } from '../layer/deadline.ts'
import { type TasksOptions, tasks } from './layer.ts'
import type { Layer } from '../layer/transport.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const HOUR_MS = 3_600_000

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
  await settled()
}

type Look = (n: number) => object

/** The `n`th look at the task of a server of 2026-07-28, from 0. */
function modern(
  look: Look,
  options: TasksOptions = {},
  first: object = task('working'),
  below: Layer = compose(),
): Script {
  let looks = 0
  const layer = compose(tasks({ answerers: { form: () => accept() }, ...options }), below)
  return new Script(layer, {
    'tools/call': () => ({ resultType: 'task', ...first }),
    'tasks/get': () => look(looks++),
    'tasks/update': () => ({ resultType: 'complete' }),
  })
}

async function errorAfter(script: Script, ms: number, params: object = envelope()): Promise<Loose> {
  await script.call(1, params)
  await pass(ms)
  return script.answer(1)?.error
}

proves('MRTR-7', 'questions in answer to tasks/get, tasks/update or tasks/cancel are refused', async () => {
  const asks = { resultType: 'input_required', inputRequests: { name: form() }, requestState: 's' }
  const error = await errorAfter(
    modern(() => asks),
    60_000,
  )
  expect(error).toMatchObject({ code: -32603, data: { code: 'RESULT_UNKNOWN' } })
  const script = modern((n) => task(n === 0 ? 'input_required' : 'working', { inputRequests: { name: form() } }))
  script.parts['tasks/update'] = () => asks
  expect(await errorAfter(script, 60_000)).toMatchObject({ data: { code: 'RESULT_UNKNOWN' } })
})

describe('a task that cannot be', () => {
  test.each<[string, object]>([
    ['has no status that there is', task('sleeping')],
    ['has no id', { ...task('working'), taskId: '' }],
    ['has an id of a megabyte', { ...task('working'), taskId: 'x'.repeat(1_000_000) }],
    ['is no object in its status', { ...task('working'), status: {} }],
  ])('%s, and the call ends when it is made', async (_, first) => {
    const error = await errorAfter(
      modern(() => ({}), {}, first),
      0,
    )
    expect(error).toMatchObject({ code: -32603, data: { code: 'TASK_INVALID' } })
  })

  test.each<[string, object]>([
    ['has no status that there is', task('sleeping')],
    ['is another one', { ...task('working'), taskId: 't2' }],
    ['is completed and has no result', task('completed')],
    ['is completed with a text for a result', task('completed', { result: 'done' })],
    ['is completed with another task', task('completed', { result: { resultType: 'task', ...task('working') } })],
    [
      'is completed with a question',
      task('completed', { result: { resultType: 'input_required', requestState: 's' } }),
    ],
    ['has failed and has no error', task('failed')],
    ['has failed with an error without a number', task('failed', { error: { message: 'No.' } })],
  ])('%s, and the call ends when that is seen', async (_, look) => {
    const error = await errorAfter(
      modern(() => look),
      1_000,
    )
    expect(error).toMatchObject({ code: -32603, data: { code: 'TASK_INVALID', taskId: 't1' } })
  })

  test.each<[string, object]>([
    ['nothing', {}],
    ['no map', { inputRequests: 7 }],
    ['something that does not exist', { inputRequests: { a: { method: 'mind/read', params: {} } } }],
  ])('asks %s', async (_, more) => {
    const error = await errorAfter(
      modern(() => task('input_required', more)),
      1_000,
    )
    expect(error).toMatchObject({ data: { code: 'INPUT_INVALID' } })
  })

  test('asks more at once than anybody is asked', async () => {
    const inputRequests = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`k${n}`, form()]))
    const error = await errorAfter(
      modern(() => task('input_required', { inputRequests })),
      1_000,
    )
    expect(error).toMatchObject({ data: { code: 'INPUT_TOO_LARGE' } })
  })

  test('nests a question deeper than can be read', async () => {
    let deep: Loose = {}
    for (let level = 0; level < 20_000; level++) deep = { deep }
    const question = { ...form(), params: { ...form().params, deep } }
    const error = await errorAfter(
      modern(() => task('input_required', { inputRequests: { a: question } })),
      1_000,
    )
    expect(error).toMatchObject({ data: { code: 'TASK_INVALID' } })
  })
})

describe('a server that breaks the rules', () => {
  test('asks two things under one key, and the second is not asked', async () => {
    const asked: unknown[] = []
    const answerers = { form: ({ request }: Loose) => (asked.push(request.params.message), accept()) }
    const look: Look = (n) =>
      task('input_required', { inputRequests: { a: form(n < 3 ? 'Your name?' : 'Your password?') } })
    const error = await errorAfter(modern(look, { answerers }), 60_000)
    expect(error).toMatchObject({ data: { code: 'TASK_INVALID' } })
    expect(asked).toEqual(['Your name?'])
  })

  test('writes the members of a question in another order, which is the same question', async () => {
    const { method, params } = form()
    const turned = { params: { requestedSchema: params.requestedSchema, message: params.message }, method }
    const look: Look = (n) =>
      n < 2
        ? task('input_required', { inputRequests: { a: n === 0 ? form() : turned } })
        : task('completed', { result: text('done') })
    const script = modern(look)
    expect(await errorAfter(script, 60_000)).toBeUndefined()
    expect(script.answer(1).result).toMatchObject(text('done'))
  })

  test('never takes the answer', async () => {
    const script = modern(() => task('input_required', { inputRequests: { a: form() }, pollIntervalMs: 100 }))
    expect(await errorAfter(script, 60_000)).toBeUndefined()
    await pass(10_000)
    expect(script.answer(1).error).toMatchObject({ data: { code: 'TASK_INVALID' } })
    expect(script.asked('tasks/update')).toHaveLength(1)
  })

  test('asks without end', async () => {
    const look: Look = (n) => task('input_required', { inputRequests: { [`k${n}`]: form() } })
    const script = modern(look, { maxRounds: 5 })
    const error = await errorAfter(script, HOUR_MS)
    expect(error).toMatchObject({ data: { code: 'ROUNDS_ENDLESS' } })
    expect(script.asked('tasks/update')).toHaveLength(5)
  })

  test.each([0, -1, 1, 1e-9, Number.NaN, '0', null])(
    'wants to be asked every %s ms, and is not',
    async (pollIntervalMs) => {
      const script = modern(() => task('working', { pollIntervalMs }), { patienceMs: 10_000 })
      const error = await errorAfter(script, 11_000)
      expect(error).toMatchObject({ data: { code: 'TASK_UNFINISHED', taskId: 't1' } })
      expect(script.asked('tasks/get').length).toBeLessThan(110)
    },
  )

  test('wants to be asked in a thousand years, and is asked in an hour', async () => {
    const script = modern(
      () => task('working', { pollIntervalMs: 1e15 }),
      {},
      task('working', { pollIntervalMs: 1e15 }),
    )
    await script.call(1, envelope())
    await pass(HOUR_MS)
    expect(script.asked('tasks/get')).toHaveLength(1)
  })

  test('goes from working to waiting and back for as long as its time', async () => {
    const look: Look = (n) =>
      n % 2 ? task('input_required', { inputRequests: {}, ttlMs: 30_000 }) : task('working', { ttlMs: 30_000 })
    const error = await errorAfter(modern(look), HOUR_MS)
    expect(error).toMatchObject({ data: { code: 'TASK_EXPIRED' } })
    expect(error.message).toContain('30 s')
  })

  test('gives a task where there are none', async () => {
    const script = modern(() => ({}))
    script.parts['prompts/get'] = () => ({ resultType: 'task', ...task('working') })
    await script.above.send({ id: 1, method: 'prompts/get', params: { name: 'p', ...envelope() } })
    await settled()
    expect(script.answer(1).error).toMatchObject({ code: -32603, data: { code: 'TASK_INVALID' } })
    expect(script.methods).toEqual(['prompts/get'])
  })

  test('gives a state that is one of ours, and gets no answers for it', async () => {
    const script = modern(() => ({}))
    script.parts['tools/call'] = () => ({
      resultType: 'input_required',
      inputRequests: { a: form() },
      requestState: 'pannier-task:t9',
    })
    expect(await errorAfter(script, 0)).toMatchObject({ data: { code: 'INPUT_INVALID' } })
  })
})

describe('a task whose time is over', () => {
  test('is looked at once more, and then the call ends', async () => {
    const script = modern(
      () => task('working', { ttlMs: 5_000, pollIntervalMs: 2_000 }),
      {},
      task('working', { ttlMs: 5_000, pollIntervalMs: 2_000 }),
    )
    const error = await errorAfter(script, 6_000)
    expect(error).toMatchObject({ data: { code: 'TASK_EXPIRED', taskId: 't1' } })
    expect(script.asked('tasks/get')).toHaveLength(3)
  })

  test('and that is gone has expired; one that is gone before is unknown, as the server says', async () => {
    const gone: Look = () => ({ error: { code: -32602, message: 'Task not found' } })
    const early = await errorAfter(modern(gone, {}, task('working', { ttlMs: 5_000 })), 1_000)
    expect(early).toEqual({ code: -32602, message: 'Task not found' })
    const script = modern(gone, {}, task('working', { ttlMs: 5_000, pollIntervalMs: 5_000 }))
    expect(await errorAfter(script, 6_000)).toMatchObject({ data: { code: 'TASK_EXPIRED' } })
  })
})

describe('a server that is away', () => {
  const lost = () => {
    throw new TypeError('fetch failed')
  }

  test('for a while is asked again, and the task is followed to its end', async () => {
    const look: Look = (n) =>
      n < 2
        ? lost()
        : n < 4
          ? { error: { code: -32603, message: 'Internal error.' } }
          : task('completed', { result: text('done') })
    const script = modern(look)
    expect(await errorAfter(script, 60_000)).toBeUndefined()
    expect(script.answer(1).result).toMatchObject(text('done'))
  })

  test('for good ends the call, with the id of the task that may go on', async () => {
    const script = modern(lost)
    const error = await errorAfter(script, 120_000)
    expect(error).toMatchObject({
      data: { code: 'TASK_UNREACHABLE', taskId: 't1', cause: new TypeError('fetch failed') },
    })
    expect(script.asked('tasks/get')).toHaveLength(8)
  })

  test('when it is answered gets the answer again', async () => {
    const look: Look = (n) =>
      n === 0
        ? task('input_required', { inputRequests: { a: form() } })
        : n < 20
          ? task('working')
          : task('completed', { result: text('done') })
    const script = modern(look)
    let tries = 0
    script.parts['tasks/update'] = () => (++tries < 3 ? lost() : {})
    expect(await errorAfter(script, HOUR_MS)).toBeUndefined()
    expect(tries).toBe(3)
    expect(script.answer(1).result).toMatchObject(text('done'))
  })

  test('in silence is given up like in any other request', async () => {
    const script = modern(() => undefined as never, {}, task('working'), deadline(5_000))
    expect(await errorAfter(script, 6_000)).toMatchObject({ data: { code: 'REQUEST_TIMED_OUT', taskId: 't1' } })
  })

  test('behind a transport that does not name the task tells what to do', async () => {
    const script = modern(() => ({ error: { code: -32020, message: 'The Mcp-Name header is missing.' } }))
    const error = await errorAfter(script, 1_000)
    expect(error).toMatchObject({ message: expect.stringContaining('tasksFetch'), data: { code: 'TASK_UNREACHABLE' } })
  })

  test('that refuses is not asked again', async () => {
    const script = modern(() => {
      throw Object.assign(new Error('Error POSTing to endpoint'), { status: 403 })
    })
    expect(await errorAfter(script, 60_000)).toMatchObject({ data: { code: 'TASK_UNREACHABLE' } })
    expect(script.asked('tasks/get')).toHaveLength(1)
  })
})
