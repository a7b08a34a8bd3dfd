/** What clients of the session era may send that is wrong, or not theirs. */
import { expect, test } from 'vitest'
import type { Incoming } from '../interop/fixtures/messageStream.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { listening, offerEcho, type TaskServerOptions, taskServer } from './fixtures/echoServer.ts'

const RELATED = 'io.modelcontextprotocol/related-task'
const capabilities = { elicitation: {}, experimental: { 'dev.pannier/rounds': {} } }

const byHeader: TaskServerOptions = {
  principal: ({ header }) => {
    const id = header('x-user')
    return id === undefined ? undefined : { id }
  },
}

async function serve(options: TaskServerOptions = {}): Promise<string> {
  const server = offerEcho(taskServer(options))
  server.tool('plain', { description: 'Never a task.' }, () => 'done')
  return listening(server)
}

async function create(session: RawSession, task: object = {}): Promise<{ taskId: string; ttl: number }> {
  const { result } = await session.request('tools/call', { name: 'echo', arguments: {}, task })
  return result?.['task'] as { taskId: string; ttl: number }
}

/** Every way to name a task. */
async function askFor(session: RawSession, taskId: string): Promise<Incoming[]> {
  const inputResponses = { echo_input: { action: 'accept', content: { input: 'mine' } } }
  return [
    await session.request('tasks/get', { taskId }),
    await session.request('tasks/result', { taskId }),
    await session.request('tasks/input_response', { inputResponses, _meta: { [RELATED]: { taskId } } }),
    await session.request('tasks/cancel', { taskId }),
  ]
}

test('a task of another is as unknown as none, whatever is asked of it', async () => {
  const url = await serve(byHeader)
  const begin = (user?: string) =>
    RawSession.begin(url, { capabilities, headers: user === undefined ? {} : { 'x-user': user } })
  const ann = await begin('ann')
  const { taskId } = await create(ann)
  await ann.request('tasks/result', { taskId })
  for (const other of [await begin('bob'), await begin()]) {
    const foreign = (await askFor(other, taskId)).map(({ error }) => error)
    const unknown = (await askFor(other, 'echo_00000000-0000-4000-8000-000000000000')).map(({ error }) => error)
    expect(foreign).toEqual(unknown)
    for (const error of foreign) expect(error).toMatchObject({ code: -32602 })
  }
  const { result } = await ann.request('tasks/get', { taskId })
  expect(result).toMatchObject({ status: 'input_required' })
})

test('the list of one does not go on from a task of another', async () => {
  const url = await serve(byHeader)
  const ann = await RawSession.begin(url, { capabilities, headers: { 'x-user': 'ann' } })
  const bob = await RawSession.begin(url, { capabilities, headers: { 'x-user': 'bob' } })
  const { taskId } = await create(ann)
  for (const cursor of [taskId, 'nothing', '\u0000']) {
    const { error } = await bob.request('tasks/list', { cursor })
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('list from the beginning') })
  }
  expect(await bob.request('tasks/list', { cursor: '' })).toMatchObject({ result: { tasks: [] } })
  expect((await bob.request('tasks/list', { cursor: 5 })).error).toMatchObject({ code: -32602 })
})

test('a tool that does not run as a task says so to whoever asks for one', async () => {
  const session = await RawSession.begin(await serve(), { capabilities })
  const { error } = await session.request('tools/call', { name: 'plain', arguments: {}, task: { ttl: 1000 } })
  expect(error).toMatchObject({ code: -32601, message: expect.stringContaining('"plain"') })
})

test('no task lives longer than the server allows', async () => {
  const session = await RawSession.begin(await serve({ tasksIn: { maxTtlMs: 5000 } }), { capabilities })
  expect((await create(session, { ttl: Number.MAX_SAFE_INTEGER })).ttl).toBe(5000)
  expect((await create(session, { ttl: 4000 })).ttl).toBe(4000)
})

test('answers that name no task are refused', async () => {
  const session = await RawSession.begin(await serve(), { capabilities })
  for (const _meta of [undefined, {}, { [RELATED]: 5 }, { [RELATED]: {} }, { [RELATED]: { taskId: 7 } }]) {
    const { error } = await session.request('tasks/input_response', { inputResponses: {}, ...(_meta && { _meta }) })
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('_meta') })
  }
})

test('a right answer after a wrong one is taken, once', async () => {
  const session = await RawSession.begin(await serve(), { capabilities })
  const { taskId } = await create(session)
  const answer = async (key: string, content: object) => {
    const inputResponses = { [key]: { action: 'accept', content } }
    return session.request('tasks/input_response', { inputResponses, _meta: { [RELATED]: { taskId } } })
  }
  await session.request('tasks/result', { taskId })
  expect((await answer('echo_input', { wrong: 1 })).error).toBeUndefined()
  expect((await answer('__proto__', { input: 'odd' })).error).toBeUndefined()
  const asked = await session.request('tasks/result', { taskId })
  expect(asked.result).toMatchObject({ inputRequests: { echo_input: {} } })
  const both = await Promise.all([answer('echo_input', { input: 'one' }), answer('echo_input', { input: 'two' })])
  const { result } = await session.request('tasks/result', { taskId })
  expect(both.some(({ error }) => error === undefined)).toBe(true)
  expect(result).toMatchObject({ content: [{ text: expect.stringMatching(/^Echo: (one|two)$/) }] })
  expect((await answer('echo_input', { input: 'after the end' })).error).toMatchObject({ code: -32602 })
})
