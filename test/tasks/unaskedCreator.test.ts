/** A task whose creator cannot be asked waits for a client that can. */
import { answerTask, connect, getTask } from 'pannier/client'
import { createServer } from 'pannier/server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { accept, TASKS, TaskCaller } from '../fixtures/modernClient.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { listening } from './fixtures/echoServer.ts'
import { ENGINES, type EngineName, serverOver } from './fixtures/engines.ts'

const sizeForm = { message: 'Which size?', schema: z.object({ size: z.string() }) }
const AWAITED = 'It waits for an answer from a client that declares: elicitation.form.'
const SILENT = { extensions: { [TASKS]: {} } }

/** Where it listens, and how often its step has run. */
async function serve(engine: EngineName): Promise<{ url: string; cuts: () => number }> {
  let cuts = 0
  const server = await serverOver(engine)
  server.tool('sew', { description: 'Sews.', task: 'required' }, async (_, ctx) => {
    await ctx.step('cut', () => ++cuts)
    return `sewn: ${(await ctx.ask('size', sizeForm)).size}`
  })
  return { url: await listening(server), cuts: () => cuts }
}

describe.each(ENGINES)('over %s, a task of a client without elicitation', (engine) => {
  test('waits, shows that client no question, and goes on when another one answers', async () => {
    const { url, cuts } = await serve(engine)
    const creator = new TaskCaller(url, { capabilities: SILENT })
    const other = new TaskCaller(url)
    const task = await creator.create('sew')
    const seen = await creator.until(task, 'input_required')
    expect(seen).toMatchObject({ inputRequests: {}, statusMessage: AWAITED })
    const asked = await other.get(task)
    expect(Object.keys(asked.inputRequests)).toEqual(['size'])
    expect(asked).not.toHaveProperty('statusMessage')
    await other.update(task, { size: accept({ size: 'L' }) })
    expect(await creator.until(task, 'completed')).toMatchObject({ result: { content: [{ text: 'sewn: L' }] } })
    expect(cuts()).toBe(1)
  })

  test('in a session keeps its result open, and pushes nothing to that client', async () => {
    const { url } = await serve(engine)
    const creator = await RawSession.begin(url)
    const { result } = await creator.request('tools/call', { name: 'sew', arguments: {}, task: {} })
    const { taskId } = (result as { task: { taskId: string } }).task
    const waiting = creator.request('tasks/result', { taskId })
    const status = async () => (await creator.request('tasks/get', { taskId })).result
    await expect.poll(status).toMatchObject({ status: 'input_required', statusMessage: AWAITED })
    const other = await RawSession.begin(url, { capabilities: { elicitation: {} } })
    const stream = await other.open('tasks/result', { taskId })
    await other.answer(await stream.next(), accept({ size: 'S' }))
    expect(await waiting).toMatchObject({ result: { content: [{ text: 'sewn: S' }] } })
    expect(await stream.next()).toMatchObject({ result: { content: [{ text: 'sewn: S' }] } })
  })

  test('is followed by connect() without answerers, and answered by its id from another program', async () => {
    const { url } = await serve(engine)
    const ids: string[] = []
    const client = await connect(url, { tasks: { onStatus: ({ taskId }) => ids.push(taskId) } })
    const other = await connect(url)
    onTestFinished(async () => void (await Promise.all([client.close(), other.close()])))
    const result = client.callTool({ name: 'sew', arguments: {} })
    await expect.poll(() => ids[0]).toBeTypeOf('string')
    const read = () => getTask(other, ids[0]!)
    await expect.poll(read).toMatchObject({ status: 'input_required', inputRequests: { size: {} } })
    await answerTask(other, ids[0]!, { size: { size: 'M' } })
    expect(await result).toMatchObject({ content: [{ text: 'sewn: M' }] })
  })
})

test('a client with rounds in a session that can answer nothing gets no question, and the task waits', async () => {
  const { url } = await serve('SQLite')
  const experimental = { 'dev.pannier/rounds': {} }
  const creator = await RawSession.begin(url, { capabilities: { experimental } })
  const other = await RawSession.begin(url, { capabilities: { experimental, elicitation: {} } })
  const { result } = await creator.request('tools/call', { name: 'sew', arguments: {}, task: {} })
  const { taskId } = (result as { task: { taskId: string } }).task
  const asks = async (session: RawSession) => (await session.request('tasks/result', { taskId })).result
  expect(await asks(creator)).toMatchObject({ resultType: 'input_required', inputRequests: {} })
  expect(await asks(other)).toMatchObject({ resultType: 'input_required', inputRequests: { size: {} } })
  const related = { 'io.modelcontextprotocol/related-task': { taskId } }
  await other.request('tasks/input_response', { inputResponses: { size: accept({ size: 'XL' }) }, _meta: related })
  await expect.poll(() => asks(creator)).toMatchObject({ content: [{ text: 'sewn: XL' }] })
})

test('an ordinary call still fails when its client cannot be asked', async () => {
  const server = createServer({ name: 'plain', version: '1', logger: { debug() {}, info() {}, warn() {}, error() {} } })
  onTestFinished(() => server.drain({ deadlineMs: 100, idleMs: 0 }))
  server.tool('sew', { description: 'Sews.' }, async (_, ctx) => (await ctx.ask('size', sizeForm)).size)
  const client = new TaskCaller(await listening(server), { capabilities: SILENT })
  expect(await client.call('sew')).toMatchObject({ code: -32021 })
})
