/** Tasks of the revision 2025-11-25 as published, with the SDK v1 client's own support for them. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CallToolResultSchema,
  type CreateTaskResult,
  CreateTaskResultSchema,
  ElicitRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { listening, offerEcho, type TaskServerOptions, taskServer } from './fixtures/echoServer.ts'

const RELATED = 'io.modelcontextprotocol/related-task'

async function serve(options: TaskServerOptions = {}): Promise<string> {
  const server = offerEcho(taskServer(options))
  server.tool('required', { description: 'Only a task.', task: 'required' }, () => 'done')
  server.tool('plain', { description: 'Never a task.' }, () => 'done')
  server.tool('fails', { description: 'Throws.', task: 'required' }, () => {
    throw new Error('out of paper')
  })
  server.tool('hangs', { description: 'Ends when told.', task: 'required' }, async (_, ctx) => {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }))
    return 'told'
  })
  const sure = { message: 'Sure?', schema: z.object({ yes: z.boolean() }) }
  server.tool(
    'detaches',
    { description: 'Asks, then goes on alone.', task: 'required', startsAs: 'call' },
    async (_, ctx) => {
      const { yes } = await ctx.ask('sure', sure)
      await ctx.detach()
      return `${yes}`
    },
  )
  return listening(server)
}

async function connect(url: string, headers: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: 'v1', version: '1' }, { capabilities: { elicitation: {}, tasks: {} } })
  const transport: unknown = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  await client.connect(transport as Transport)
  onTestFinished(() => client.close())
  return client
}

async function create(client: Client, name: string): Promise<CreateTaskResult['task']> {
  const request = { method: 'tools/call', params: { name, arguments: {}, task: { ttl: 60_000 } } } as const
  return (await client.request(request, CreateTaskResultSchema)).task
}

describe('the v1 client', () => {
  test('is told what runs as a task', async () => {
    const client = await connect(await serve())
    expect(client.getServerCapabilities()?.tasks).toEqual({ cancel: {}, requests: { tools: { call: {} } } })
    const { tools } = await client.listTools()
    const support = Object.fromEntries(tools.map(({ name, execution }) => [name, execution?.taskSupport]))
    expect(support).toMatchObject({ echo: 'optional', required: 'required' })
    expect(support['plain']).toBeUndefined()
  })

  test('follows a task by its own stream of messages, and is asked within tasks/result', async () => {
    const client = await connect(await serve())
    await client.listTools()
    const asked: unknown[] = []
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params._meta?.[RELATED])
      return { action: 'accept', content: { input: 'from v1' } }
    })
    const seen: string[] = []
    let taskId = ''
    const stream = client.experimental.tasks.callToolStream({ name: 'echo', arguments: {} }, CallToolResultSchema, {
      task: { ttl: 60_000 },
    })
    for await (const message of stream) {
      seen.push(message.type)
      if (message.type === 'taskCreated') taskId = message.task.taskId
      if (message.type === 'error') throw message.error
      if (message.type === 'result') {
        expect(message.result.content).toEqual([{ type: 'text', text: 'Echo: from v1' }])
        expect(message.result._meta?.[RELATED]).toEqual({ taskId })
      }
    }
    expect([seen[0], seen.at(-1)]).toEqual(['taskCreated', 'result'])
    expect(asked).toEqual([{ taskId }])
  })

  test('is told when its answer is too large, and may give another', async () => {
    const client = await connect(await serve({ tasksIn: { maxEntryBytes: 4096 } }))
    const answers = ['x'.repeat(5000), 'short']
    client.setRequestHandler(ElicitRequestSchema, () => {
      return { action: 'accept', content: { input: answers.shift() ?? '' } }
    })
    const { taskId } = await create(client, 'echo')
    const result = () => client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema)
    await expect(result()).rejects.toMatchObject({ code: -32602, message: expect.stringContaining('4096') })
    expect((await result()).content).toEqual([{ type: 'text', text: 'Echo: short' }])
  })

  test('that gives wrong answers is asked again, but not for ever', async () => {
    const client = await connect(await serve())
    let asked = 0
    client.setRequestHandler(ElicitRequestSchema, () => {
      asked++
      return { action: 'accept', content: { output: 'wrong' } }
    })
    const { taskId } = await create(client, 'echo')
    const result = await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema)
    expect([result.isError, asked]).toEqual([true, 5])
  })

  test('gets the result of a task that ended, as often as it asks', async () => {
    const client = await connect(await serve())
    const { taskId, ttl, status } = await create(client, 'required')
    expect([ttl, status]).toEqual([60_000, 'working'])
    for (let time = 0; time < 2; time++) {
      const result = await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema)
      expect(result.content).toEqual([{ type: 'text', text: 'done' }])
    }
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ status: 'completed' })
  })

  test('sees a tool that failed as a failed task', async () => {
    const client = await connect(await serve())
    const { taskId } = await create(client, 'fails')
    const result = await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema)
    expect(result.isError).toBe(true)
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ status: 'failed' })
  })

  test('cancels a task, once', async () => {
    const client = await connect(await serve())
    const { taskId } = await create(client, 'hangs')
    expect(await client.experimental.tasks.cancelTask(taskId)).toMatchObject({ taskId, status: 'cancelled' })
    await expect(client.experimental.tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 })
    await expect(client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema)).rejects.toThrow('cancelled')
  })

  test('lists its own tasks where it is known, and cannot where it is not', async () => {
    const principal = ({ header }: { header: (name: string) => string | undefined }) => ({
      id: header('x-user') ?? '?',
    })
    const url = await serve({ principal })
    const ann = await connect(url, { 'x-user': 'ann' })
    const bob = await connect(url, { 'x-user': 'bob' })
    expect(ann.getServerCapabilities()?.tasks).toHaveProperty('list')
    const { taskId } = await create(ann, 'required')
    expect((await ann.experimental.tasks.listTasks()).tasks.map((task) => task.taskId)).toEqual([taskId])
    expect((await bob.experimental.tasks.listTasks()).tasks).toEqual([])
    await expect(bob.experimental.tasks.getTask(taskId)).rejects.toMatchObject({ code: -32602 })
    const stranger = await RawSession.begin(await serve())
    expect((await stranger.request('tasks/list')).error?.code).toBe(-32601)
  })

  test('is asked before the task, on the stream of its call, where the tool begins as a call', async () => {
    const client = await connect(await serve())
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { yes: true } }))
    const { taskId } = await create(client, 'detaches')
    const result = await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema)
    expect(result.content).toEqual([{ type: 'text', text: 'true' }])
  })

  test.each([
    ['a tool that is only a task, without', 'required', undefined],
    ['a tool that is never a task, with', 'plain', {}],
  ])('is refused %s "task"', async (_, name, task) => {
    const session = await RawSession.begin(await serve())
    const answer = await session.request('tools/call', { name, arguments: {}, ...(task && { task }) })
    expect(answer.error).toMatchObject({ code: -32601, message: expect.stringContaining('"params.task"') })
  })

  test('that declared nothing of ours has no tasks/input_response', async () => {
    const session = await RawSession.begin(await serve())
    expect((await session.request('tasks/input_response', {})).error?.code).toBe(-32601)
  })
})
