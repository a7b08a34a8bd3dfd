/** Tasks through a gateway with two workers: each request comes by a new connection to the next one. */
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema, CreateTaskResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { sdkTasks } from '../client/fixtures/servers/tasksSdkV1.ts'
import { TaskCaller } from '../fixtures/modernClient.ts'
import { commandOf } from '../interop/fixtures/instances.ts'
import { listening, taskServer } from '../tasks/fixtures/echoServer.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { sessionServer } from './fixtures/gateways.ts'
import { FRESH } from './fixtures/workers.ts'

const SERVERS = ['ours', 'http', 'stdio'] as const

function listingTasks() {
  const server = sdkTasks()
  server.server.registerCapabilities({ tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } })
  return server
}

/** Servers of both eras with the same tasks, behind two workers. */
async function serve(): Promise<string> {
  const server = taskServer()
  const form = { message: 'For whom?', schema: z.object({ name: z.string() }) }
  server.tool('greet', { description: 'greet', task: 'required' }, async (_, ctx) => {
    return `Dear ${(await ctx.ask('name', form)).name}`
  })
  server.tool('endless', { description: 'endless', task: 'required' }, async (_, ctx) => {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }))
    return 'told'
  })
  const servers = {
    ours: { url: await listening(server) },
    http: { url: (await sessionServer(undefined, listingTasks)).url },
    stdio: {
      ...commandOf(fileURLToPath(new URL('programs/sdkTasks.ts', import.meta.url))),
      pannier: { state: 'stateful' },
    },
  }
  return (await startGatewayProcess(servers, { args: ['--workers', '2'] })).url
}

async function connectV1(url: string): Promise<Client> {
  const client = new Client({ name: 'v1', version: '1' }, { capabilities: { elicitation: {}, tasks: {} } })
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'v1' } }))
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: FRESH } }))
  onTestFinished(() => client.close())
  await client.listTools() // by the list it knows what runs as a task
  return client
}

async function createV1(client: Client, name: string): Promise<string> {
  const request = { method: 'tools/call', params: { name, arguments: {}, task: { ttl: 60_000 } } } as const
  return (await client.request(request, CreateTaskResultSchema)).task.taskId
}

test('a client of the session era follows tasks, is asked, cancels and lists them', async () => {
  const url = await serve()
  const one = await connectV1(url)
  const { tasks } = one.experimental
  for (const name of SERVERS)
    for (let time = 0; time < 3; time++) {
      const taskId = await createV1(one, `${name}_greet`)
      expect(await tasks.getTask(taskId)).toMatchObject({ taskId })
      const result = await tasks.getTaskResult(taskId, CallToolResultSchema)
      expect(result, name).toMatchObject({ content: [{ text: 'Dear v1' }] })
      const endless = await createV1(one, `${name}_endless`)
      expect(await tasks.getTask(endless)).toMatchObject({ taskId: endless, status: 'working' })
      expect(await tasks.cancelTask(endless)).toMatchObject({ taskId: endless, status: 'cancelled' })
    }
  const [two, other] = [await connectV1(url), await connectV1(url)]
  const taskId = await createV1(two, 'http_endless')
  for (let time = 0; time < 3; time++) {
    expect(await two.experimental.tasks.listTasks()).toMatchObject({ tasks: [{ taskId, status: 'working' }] })
    expect(await other.experimental.tasks.listTasks()).toMatchObject({ tasks: [] })
    await expect(other.experimental.tasks.getTask(taskId)).rejects.toThrow(/task/i)
  }
})

test('a client of the stateless era follows, answers and cancels tasks', async () => {
  const caller = new TaskCaller(await serve(), { headers: FRESH })
  for (const name of SERVERS)
    for (let time = 0; time < 3; time++) {
      const taskId = await caller.create(`${name}_greet`)
      const [key = ''] = Object.keys((await caller.until(taskId, 'input_required')).inputRequests)
      await caller.update(taskId, { [key]: { action: 'accept', content: { name: 'v2' } } })
      expect(await caller.until(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'Dear v2' }] } })
      const endless = await caller.create(`${name}_endless`)
      await caller.cancel(endless)
      expect(await caller.until(endless, 'cancelled')).toMatchObject({ taskId: endless })
    }
})
