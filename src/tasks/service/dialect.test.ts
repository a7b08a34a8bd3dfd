import type { InputRequest } from '@modelcontextprotocol/client'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Json } from '../../protocol/index.ts'
import type { Call, TaskHost } from '../../server/index.ts'
import type { TaskEngine, TaskRecord } from '../engine.ts'
import { modernTaskMethods } from './modernDialect.ts'
import { sessionTaskMethods } from './sessionDialect.ts'

const roots = { method: 'roots/list' } as const
const extensions = { 'io.modelcontextprotocol/tasks': {} }

function record(more: Partial<TaskRecord>): TaskRecord {
  return {
    id: 'one',
    tool: 'print',
    status: 'working',
    statusMessage: undefined,
    progress: undefined,
    createdAt: 0,
    updatedAt: 1000,
    ttlMs: null,
    questions: new Map(),
    approvers: new Map(),
    result: undefined,
    failure: undefined,
    ...more,
  }
}

const failure = { code: -32603, message: 'The printer burns.' }
const completed = record({ status: 'completed', result: { content: [] } })
const failed = record({ status: 'failed', failure })
const withError = record({ status: 'completed', result: { content: [], isError: true } })
const asking = record({ status: 'input_required', questions: new Map([['a', roots]]) })

const sampling = new Map<string, InputRequest>([
  ['b', { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }],
])

interface CallOptions {
  readonly capabilities?: Json
  /** Whether a session-era client is asked by results. */
  readonly rounds?: boolean
  readonly principal?: string
  readonly meta?: Json
}

/** What a method of either dialect answers, with this task as the only one. It is Ann's, or nobody's. */
async function answered(
  era: 'modern' | 'session',
  method: string,
  task: TaskRecord,
  { params = {}, ...options }: CallOptions & { params?: Json } = {},
): Promise<Json> {
  const methods = era === 'modern' ? modernTaskMethods : sessionTaskMethods
  const engine: Partial<TaskEngine> = {
    read: async (id) => (id === task.id && options.principal !== 'bob' ? task : undefined),
    awaiting: async (id) => (id === task.id && task.approvers.size > 0 ? task : undefined),
    cancel: async (id) => (id === task.id ? { ...task, status: 'cancelled' } : undefined),
    answer: async (_, owner, { accepted, by }) => {
      stored.push([owner === undefined ? 'another' : 'owner', by?.id, [...accepted.keys()]])
      return task
    },
    list: async (_, after, limit) => {
      listed.push([after, limit])
      return { tasks: [task], next: task.id === 'one' ? undefined : task.id }
    },
    watch: () => () => {},
  }
  const host: Partial<TaskHost> = {
    assertMayCall: () => {},
    mayAnswer: (_, { principal }) => principal?.id === 'bob',
    write: (result) => JSON.stringify(result),
  }
  const all = methods({ host: host as TaskHost, engine: async () => engine as TaskEngine, pollMs: 500 })
  const { capabilities = { extensions, roots: {} }, rounds = false, principal, meta = {} } = options
  const call = {
    params: { taskId: task.id, ...params },
    meta,
    peer: { capabilities, takesInputRequired: rounds },
    principal: principal === undefined ? undefined : { id: principal },
    channel: { cancelled: false, onCancel() {} },
  }
  return JSON.parse((await all.get(method)?.(call as unknown as Call)) ?? 'null') as Json
}

/** Who answered, by which name, and what. */
const stored: [string, string | undefined, string[]][] = []

/** From which cursor on, and how many, tasks were listed. */
const listed: [string | undefined, number][] = []

beforeEach(() => {
  stored.splice(0)
  listed.splice(0)
})

describe('the status message of a task', () => {
  const said = { statusMessage: 'Page 3 of 4.' }

  test.each([
    ['working, and its handler said nothing', record({}), undefined],
    ['working', record(said), 'Page 3 of 4.'],
    ['completed', completed, expect.stringContaining('completed successfully, call tasks/result')],
    ['completed, with words of its handler', { ...completed, ...said }, 'Page 3 of 4.'],
    ['failed', failed, 'The printer burns.'],
    ['failed, with words of its handler', { ...failed, ...said }, 'Page 3 of 4.'],
    [
      'completed with an error, which counts as failed',
      withError,
      expect.stringContaining('failed, call tasks/result'),
    ],
    ['cancelled', record({ ...said, status: 'cancelled' }), 'Page 3 of 4.'],
    ['asking', { ...asking, ...said }, expect.stringContaining('Input is required; call tasks/result')],
    [
      'asking what this client cannot be asked',
      record({ ...asking, questions: sampling }),
      expect.stringContaining('sampling'),
    ],
  ])('in a session: %s', async (_, task, message) => {
    expect((await answered('session', 'tasks/get', task))['statusMessage']).toEqual(message)
  })

  test('in a session: asking a client that is asked by results', async () => {
    const { statusMessage } = await answered('session', 'tasks/get', asking, { rounds: true })
    expect(statusMessage).toBe('Input Required to Proceed call tasks/result')
  })

  test.each([
    ['working, and its handler said nothing', record({}), undefined],
    ['working', record(said), 'Page 3 of 4.'],
    ['completed', completed, undefined],
    ['completed, with words of its handler', { ...completed, ...said }, 'Page 3 of 4.'],
    ['failed', failed, 'The printer burns.'],
    ['failed, with words of its handler', { ...failed, ...said }, 'Page 3 of 4.'],
    ['asking: the words are about the run before', { ...asking, ...said }, undefined],
    [
      'asking what this client cannot be asked',
      record({ ...asking, questions: sampling }),
      expect.stringContaining('sampling'),
    ],
  ])('in 2026-07-28: %s', async (_, task, message) => {
    expect((await answered('modern', 'tasks/get', task))['statusMessage']).toEqual(message)
  })
})

describe('a task on the wire', () => {
  const times = { createdAt: '1970-01-01T00:00:00.000Z', lastUpdatedAt: '1970-01-01T00:00:01.000Z' }

  test('has what its revision says, and nothing else', async () => {
    expect(await answered('modern', 'tasks/get', record({ ttlMs: 60 }))).toEqual({
      taskId: 'one',
      status: 'working',
      ...times,
      ttlMs: 60,
      pollIntervalMs: 500,
    })
    expect(await answered('session', 'tasks/get', record({ ttlMs: 60 }))).toEqual({
      taskId: 'one',
      status: 'working',
      ...times,
      ttl: 60,
      pollInterval: 500,
    })
    expect(await answered('modern', 'tasks/get', completed)).toMatchObject({
      result: { resultType: 'complete', content: [] },
    })
    expect(await answered('modern', 'tasks/get', failed)).toMatchObject({ error: failure })
    expect(await answered('modern', 'tasks/get', asking)).toMatchObject({ inputRequests: { a: roots } })
  })

  test('with an error in its result has failed in a session, and is completed in 2026-07-28', async () => {
    expect(await answered('session', 'tasks/get', withError)).toMatchObject({ status: 'failed' })
    expect(await answered('modern', 'tasks/get', withError)).toMatchObject({ status: 'completed' })
    expect(await answered('session', 'tasks/get', completed)).toMatchObject({ status: 'completed' })
  })

  test.each(['modern', 'session'] as const)('says how far it is until it has ended (%s)', async (era) => {
    const progress = { progress: 1, total: 4 }
    const { _meta } = await answered(era, 'tasks/get', record({ progress }))
    expect(Object.values(_meta as Json)).toEqual([progress])
    expect(await answered(era, 'tasks/get', { ...completed, progress })).not.toHaveProperty('_meta')
  })
})

describe('the id of a task', () => {
  const named = (taskId: unknown) =>
    answered('session', 'tasks/get', record({ id: taskId as string }), { params: { taskId } })

  test('has up to 512 characters', async () => {
    expect(await named('x'.repeat(512))).toMatchObject({ status: 'working' })
    expect(await named('x')).toMatchObject({ status: 'working' })
  })

  test.each([5, undefined, '', 'x'.repeat(513), '\ud800'])('is not %j', async (taskId) => {
    await expect(named(taskId)).rejects.toThrow('"params.taskId"')
  })
})

test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])('%s is for clients that declare tasks', async (method) => {
  const params = { inputResponses: {} }
  await expect(answered('modern', method, asking, { capabilities: {}, params })).rejects.toMatchObject({
    code: 'CAPABILITY_MISSING',
  })
  expect(await answered('modern', method, asking, { params })).toBeTypeOf('object')
})

test('tasks/cancel in a session is an error once a task has ended, and in 2026-07-28 it is none', async () => {
  await expect(answered('session', 'tasks/cancel', completed)).rejects.toThrow('already ended')
  expect(await answered('session', 'tasks/cancel', record({}))).toMatchObject({ status: 'cancelled' })
  expect(await answered('modern', 'tasks/cancel', completed)).toEqual({})
})

describe('tasks/result', () => {
  const related = { 'io.modelcontextprotocol/related-task': { taskId: 'one' } }

  test('is the result of the call, with what it says of itself, and names the task', async () => {
    const task = record({ ...completed, result: { content: [], _meta: { mine: 1 } } })
    expect(await answered('session', 'tasks/result', task)).toEqual({ content: [], _meta: { mine: 1, ...related } })
    expect(await answered('session', 'tasks/result', completed)).toEqual({ content: [], _meta: related })
  })

  test('is the error of a task that failed, and one of our own where it was cancelled', async () => {
    await expect(answered('session', 'tasks/result', failed)).rejects.toMatchObject(failure)
    await expect(answered('session', 'tasks/result', record({ status: 'cancelled' }))).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining('cancelled'),
    })
  })

  test('is the questions, for a client that is asked by results', async () => {
    expect(await answered('session', 'tasks/result', asking, { rounds: true })).toEqual({
      resultType: 'input_required',
      inputRequests: { a: roots },
      _meta: related,
    })
  })
})

describe('a question that names who may answer', () => {
  const approvers = new Map([['a', { by: ['role:manager'], fourEyes: false }]])
  const task = record({ ...asking, statusMessage: 'Page 3 of 4.', approvers })
  const params = { inputResponses: { a: { roots: [] } } }

  test('is seen and answered by them, while its owner sees for whom it waits', async () => {
    expect(await answered('modern', 'tasks/get', task, { principal: 'ann' })).toMatchObject({
      statusMessage: 'It waits for role:manager.',
      inputRequests: {},
    })
    expect(await answered('modern', 'tasks/get', task, { principal: 'bob' })).toMatchObject({
      inputRequests: { a: roots },
    })
    await answered('modern', 'tasks/update', task, { principal: 'bob', params })
    expect(stored.splice(0)).toEqual([['another', 'bob', ['a']]])
    await expect(answered('modern', 'tasks/update', task, { principal: 'ann', params })).rejects.toThrow('role:manager')
    await answered('modern', 'tasks/update', task, { principal: 'ann', params: { inputResponses: { b: {} } } })
    expect(stored.splice(0)).toEqual([['owner', 'ann', []]])
  })

  test('and everything else of the task does not exist for others', async () => {
    const unknown = 'There is no task with this id'
    await expect(answered('modern', 'tasks/get', asking, { principal: 'bob' })).rejects.toThrow(unknown)
    const open = record({ ...task, questions: new Map(), approvers })
    await expect(answered('modern', 'tasks/get', open, { principal: 'bob' })).rejects.toThrow(unknown)
  })
})

test('tasks/input_response names the task and its answers, and is refused where nothing is asked', async () => {
  const meta = { 'io.modelcontextprotocol/related-task': { taskId: 'one' } }
  const params = { inputResponses: { a: { roots: [] } } }
  expect(await answered('session', 'tasks/input_response', asking, { meta, params })).toEqual({ _meta: meta })
  expect(stored.splice(0)).toEqual([['owner', undefined, ['a']]])
  const refusals = [
    answered('session', 'tasks/input_response', asking, { params }),
    answered('session', 'tasks/input_response', asking, { meta, params: { inputResponses: [] } }),
    answered('session', 'tasks/input_response', record({}), { meta, params }),
  ]
  for (const refusal of refusals) await expect(refusal).rejects.toMatchObject({ code: 'PARAMS_INVALID' })
  expect(stored).toEqual([])
})

describe('tasks/list', () => {
  test('has the tasks of the caller and where the next page begins', async () => {
    expect(await answered('session', 'tasks/list', record({}))).toEqual({
      tasks: [expect.objectContaining({ taskId: 'one', status: 'working' })],
    })
    expect(listed.pop()).toEqual([undefined, 100])
    const { nextCursor } = await answered('session', 'tasks/list', record({ id: 'of a long list' }))
    expect(nextCursor).toBe('of a long list')
  })

  test('goes on from a cursor, begins again at an empty one, and takes nothing else', async () => {
    await answered('session', 'tasks/list', record({}), { params: { cursor: 'one' } })
    await answered('session', 'tasks/list', record({}), { params: { cursor: '' } })
    expect(listed.splice(0)).toEqual([
      ['one', 100],
      [undefined, 100],
    ])
    const wrong = answered('session', 'tasks/list', record({}), { params: { cursor: 5 } })
    await expect(wrong).rejects.toMatchObject({ code: 'PARAMS_INVALID' })
    expect(listed).toEqual([])
  })

  test('shows its owner for whom a task waits', async () => {
    const approvers = new Map([['a', { by: ['role:manager'], fourEyes: false }]])
    const waiting = record({ ...asking, approvers })
    const statusMessage = 'It waits for role:manager.'
    expect(await answered('session', 'tasks/list', waiting)).toMatchObject({ tasks: [{ statusMessage }] })
    expect(await answered('session', 'tasks/cancel', waiting)).toMatchObject({ status: 'cancelled' })
  })
})
