/** Tasks through the gateway: clients of both dialects before servers of both. */
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  createTaskSessionFromClient,
  type CreateTaskSessionFromClientOptions,
} from '@modelcontextprotocol/ext-tasks/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema, CreateTaskResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { sdkTasks } from '../client/fixtures/servers/tasksSdkV1.ts'
import {
  call as callTool,
  envelope,
  eventsOf,
  open,
  TAKES_TASKS,
  TaskCaller,
  VERSION,
  type Wire,
} from '../fixtures/modernClient.ts'
import { listening, taskServer } from '../tasks/fixtures/echoServer.ts'
import { commandOf } from '../interop/fixtures/instances.ts'
import { sessionServer, startGateway } from './fixtures/gateways.ts'

const PATIENCE = { timeout: 30_000 }
const SERVERS = ['ours', 'sdk'] as const
const RELATED = 'io.modelcontextprotocol/related-task'

/** Two servers with the same tasks: ours of the stateless era, and the SDK's of the session era. */
async function serve(options: Parameters<typeof startGateway>[1] = {}): Promise<string> {
  const server = taskServer()
  const form = { message: 'For whom?', schema: z.object({ name: z.string() }) }
  server.tool('quick', { description: 'quick', task: 'required' }, () => 'quick')
  server.tool('greet', { description: 'greet', task: 'required' }, async (_, ctx) => {
    const { name } = await ctx.ask('name', form)
    return `Dear ${name}`
  })
  server.tool('fails', { description: 'fails', task: 'required' }, () => {
    throw new Error('Out of paint.')
  })
  server.tool('endless', { description: 'endless', task: 'required' }, async (_, ctx) => {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }))
    return 'told'
  })
  server.tool('plain', { description: 'plain' }, () => 'at once')
  const sdk = await sessionServer(undefined, sdkTasks)
  const { url } = await startGateway({ ours: { url: await listening(server) }, sdk: { url: sdk.url } }, options)
  return url
}

async function connectV1(url: string, headers: Record<string, string> = {}): Promise<ClientV1> {
  const client = new ClientV1({ name: 'v1', version: '1' }, { capabilities: { elicitation: {}, tasks: {} } })
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'v1' } }))
  await client.connect(new HttpV1(new URL(url), { requestInit: { headers } }))
  onTestFinished(() => client.close())
  await client.listTools() // by the list it knows what runs as a task
  return client
}

async function createV1(client: ClientV1, name: string): Promise<string> {
  const request = { method: 'tools/call', params: { name, arguments: {}, task: { ttl: 60_000 } } } as const
  return (await client.request(request, CreateTaskResultSchema)).task.taskId
}

/** The official client of the tasks extension. */
async function connectExtension(url: string) {
  const client = new Client(
    { name: 'extension', version: '1' },
    { capabilities: { ...TAKES_TASKS, elicitation: {} }, versionNegotiation: { mode: { pin: VERSION } } },
  )
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  onTestFinished(() => client.close())
  const wire = new TaskCaller(url)
  const options: unknown = {
    endpointId: url,
    onInputRequest: () => ({ action: 'accept', content: { name: 'v2' } }),
    rawDispatch: async ({ method, params }: { method: string; params: Record<string, unknown> }) => {
      const { message } = await wire.send(method, params)
      return 'result' in message ? { kind: 'result', result: message.result } : { kind: 'error', error: message.error }
    },
    v2RequestFraming: {
      protocolVersion: VERSION,
      clientInfo: envelope()['io.modelcontextprotocol/clientInfo'],
      clientCapabilities: { ...TAKES_TASKS, elicitation: {} },
    },
  }
  return createTaskSessionFromClient(client, options as CreateTaskSessionFromClientOptions)
}

describe.each(SERVERS)('tasks of the server %s', (name) => {
  test('the v1 client follows them, and is asked within tasks/result', async () => {
    const client = await connectV1(await serve())
    expect(client.getServerCapabilities()?.tasks).toMatchObject({ cancel: {}, requests: { tools: { call: {} } } })
    const seen: string[] = []
    const stream = client.experimental.tasks.callToolStream(
      { name: `${name}_greet`, arguments: {} },
      CallToolResultSchema,
      { task: { ttl: 60_000 } },
    )
    let taskId = ''
    let result: unknown
    for await (const message of stream) {
      seen.push(message.type)
      if (message.type === 'taskCreated') taskId = message.task.taskId
      if (message.type === 'result') result = message.result
    }
    expect(seen[0]).toBe('taskCreated')
    expect(result).toMatchObject({ content: [{ text: 'Dear v1' }], _meta: { [RELATED]: { taskId } } })
  })

  test('the v1 client cancels one, and hears how one failed', async () => {
    const client = await connectV1(await serve())
    const taskId = await createV1(client, `${name}_endless`)
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ taskId, status: 'working' })
    expect(await client.experimental.tasks.cancelTask(taskId)).toMatchObject({ taskId, status: 'cancelled' })
    await expect(client.experimental.tasks.cancelTask(taskId)).rejects.toThrow(/ended/)
    const failing = await createV1(client, `${name}_fails`)
    await vi.waitFor(
      async () => expect(await client.experimental.tasks.getTask(failing)).toMatchObject({ status: 'failed' }),
      PATIENCE,
    )
    const failed = await client.experimental.tasks.getTaskResult(failing, CallToolResultSchema)
    expect(failed).toMatchObject({ isError: true })
  })

  test('the client of the tasks extension follows them, and answers', async () => {
    const tasks = await connectExtension(await serve())
    for (const [tool, text] of [
      ['quick', 'quick'],
      ['greet', 'Dear v2'],
    ]) {
      const execution = await tasks.callTool(`${name}_${tool}`, {}, { task: { preference: 'require' } })
      expect(execution.kind).toBe('task')
      const { outcome } = await execution.settle()
      expect(outcome).toMatchObject({ status: 'completed', result: { content: [{ text }] } })
    }
    const failing = await tasks.callTool(`${name}_fails`, {}, { task: { preference: 'require' } })
    expect((await failing.settle()).outcome).toMatchObject({ status: 'completed', result: { isError: true } })
    await tasks.close()
  })

  test('a subscription tells of them', async () => {
    const url = await serve()
    const wire = new TaskCaller(url)
    const taskId = await wire.create(`${name}_endless`)
    const left = new AbortController()
    onTestFinished(() => left.abort())
    const stream = await open(url, {
      method: 'subscriptions/listen',
      params: { notifications: { taskIds: [taskId, 'unknown'] } },
      capabilities: TAKES_TASKS,
      signal: left.signal,
    })
    const events = messagesOf(stream)
    expect((await events.next()).value).toMatchObject({ params: { notifications: { taskIds: [taskId] } } })
    expect((await events.next()).value).toMatchObject({ params: { taskId, status: 'working' } })
    await wire.cancel(taskId)
    expect((await events.next()).value).toMatchObject({ params: { taskId, status: 'cancelled' } })
  })

  test('none is made where the client takes none, or the tool makes none', async () => {
    const url = await serve()
    const { error } = (await callTool(url, `${name}_quick`)).message
    expect(error).toMatchObject({ code: -32021, message: expect.stringContaining('runs only as a task') })
    const plain = await connectV1(url)
    expect(await plain.callTool({ name: `${name}_plain`, arguments: {} })).toMatchObject({
      content: [{ text: 'at once' }],
    })
  })
})

/** The messages of a stream, one after the other. */
async function* messagesOf({ body }: Response): AsyncGenerator<Wire> {
  let text = ''
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    const end = text.lastIndexOf('\n\n') + 2
    if (end < 2) continue
    yield* eventsOf(text.slice(0, end))
    text = text.slice(end)
  }
}

test('an id counts for its caller alone, and only as it was given', async () => {
  const principal = ({ header }: { header: (name: string) => string | undefined }) => ({
    id: header('x-user') ?? 'nobody',
  })
  const url = await serve({ principal })
  const caller = (user: string) => new TaskCaller(url, { headers: { 'x-user': user } })
  for (const name of SERVERS) {
    const taskId = await caller('ann').create(`${name}_endless`)
    expect(await caller('ann').get(taskId)).toMatchObject({ taskId, status: 'working' })
    const unknown = { code: -32602, message: 'There is no task with this id, or it has expired.' }
    expect(await caller('bob').get(taskId)).toEqual(unknown)
    expect(await caller('bob').cancel(taskId)).toEqual(unknown)
    expect(await caller('ann').get(`${taskId.slice(0, -1)}_`)).toEqual(unknown)
    expect(await caller('ann').get(taskId.split(':')[1] ?? '')).toEqual(unknown)
    await caller('ann').cancel(taskId)
  }
})

test('a tool that makes no task is refused as one in the session era, where the server has said so', async () => {
  const client = await connectV1(await serve())
  await expect(createV1(client, 'sdk_plain')).rejects.toThrow(/does not run as a task/)
  // In the stateless era nobody knows before, so that the result is a task that has ended.
  const taskId = await createV1(client, 'ours_plain')
  expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ taskId, status: 'completed' })
  expect(await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema)).toMatchObject({
    content: [{ text: 'at once' }],
    _meta: { [RELATED]: { taskId } },
  })
  await expect(client.experimental.tasks.cancelTask(taskId)).rejects.toThrow(/ended/)
})

test('a session has its own tasks, and its process stays while one runs', async () => {
  const entry = commandOf(fileURLToPath(new URL('programs/sdkTasks.ts', import.meta.url)))
  const pannier = { state: 'stateful', idleSeconds: 1 }
  const { url, gateway } = await startGateway({ sdk: { ...entry, pannier } })
  const [one, other] = [await connectV1(url), await connectV1(url)]
  const taskId = await createV1(one, 'sdk_endless')
  await expect(other.experimental.tasks.getTask(taskId)).rejects.toThrow(/task/i)
  // The process of the other one is idle, and ends; that of the task does not.
  await vi.waitFor(() => expect(gateway.backends[0]?.sender.links).toBe(1), PATIENCE)
  expect(await one.experimental.tasks.getTask(taskId)).toMatchObject({ taskId, status: 'working' })
  await one.experimental.tasks.cancelTask(taskId)
  await vi.waitFor(() => expect(gateway.backends[0]?.sender.links).toBe(0), PATIENCE)
})

test('a task is told as gone when its server has forgotten the session, and its link is given back', async () => {
  const sdk = await sessionServer(undefined, sdkTasks)
  const { url, gateway } = await startGateway({ sdk: { url: sdk.url, pannier: { state: 'stateful', idleSeconds: 1 } } })
  const client = await connectV1(url)
  const taskId = await createV1(client, 'sdk_endless')
  sdk.forgetAll()
  const message = expect.stringContaining('had this task in a session or process that has ended. What it did may have')
  await expect(client.experimental.tasks.getTask(taskId)).rejects.toMatchObject({ code: -32602, message })
  await vi.waitFor(() => expect(gateway.backends[0]?.sender.links).toBe(0), PATIENCE)
})

test('the result of a task can be read that came when the sessions of other callers had been forgotten', async () => {
  const sdk = await sessionServer(undefined, sdkTasks)
  const { url, gateway } = await startGateway({ sdk: { url: sdk.url, pannier: { state: 'stateful' } } })
  const [ann, bob] = [new TaskCaller(url), new TaskCaller(url)]
  const lost = await ann.create('sdk_endless')
  sdk.forgetAll()
  const taskId = await bob.create('sdk_greet')
  const { inputRequests } = await bob.until(taskId, 'input_required')
  expect(await ann.get(lost)).toMatchObject({ code: -32602 })
  // On the link of that task, whose session is gone; callers without a name share what is known of their sessions.
  await ann.create('sdk_endless')
  const [key = ''] = Object.keys(inputRequests)
  await bob.update(taskId, { [key]: { action: 'accept', content: { name: 'Bob' } } })
  // The gateway has the result, on the request on which the server asked.
  await vi.waitFor(() => expect(gateway.backends[0]?.limits.inFlight).toBe(0), PATIENCE)
  expect(await bob.until(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'Dear Bob' }] } })
})

test('a session-era client lists the tasks of its own session', async () => {
  const { url } = await startGateway({ sdk: { url: (await sessionServer(undefined, listingTasks)).url } })
  const [one, other] = [await connectV1(url), await connectV1(url)]
  expect(one.getServerCapabilities()?.tasks).toHaveProperty('list')
  const taskId = await createV1(one, 'sdk_endless')
  expect(await one.experimental.tasks.listTasks()).toMatchObject({ tasks: [{ taskId, status: 'working' }] })
  expect(await other.experimental.tasks.listTasks()).toMatchObject({ tasks: [] })
})

test('a task of a session-era server is found by way of another gateway, and told as gone with the one that had it', async () => {
  const entry = { sdk: { url: (await sessionServer(undefined, sdkTasks)).url } }
  const [owner, other] = [await startGateway(entry), await startGateway(entry)]
  const taskId = await new TaskCaller(owner.url).create('sdk_greet')
  const elsewhere = new TaskCaller(other.url)
  const asked = await elsewhere.until(taskId, 'input_required')
  const [key = ''] = Object.keys(asked.inputRequests)
  await elsewhere.update(taskId, { [key]: { action: 'accept', content: { name: 'other' } } })
  expect(await elsewhere.until(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'Dear other' }] } })
  // A client that keeps who it is belongs to the gateway that it came to first.
  const extensions = { ...TAKES_TASKS.extensions, 'dev.pannier/client-state': {} }
  const endless = await new TaskCaller(owner.url, { capabilities: { extensions } }).create('sdk_endless')
  expect(await elsewhere.get(endless)).toMatchObject({ status: 'working' })
  await owner.gateway.drain({ deadlineMs: 0 })
  expect(await elsewhere.get(endless)).toMatchObject({
    message: expect.stringContaining('a process of the gateway that has ended'),
  })
})

function listingTasks() {
  const server = sdkTasks()
  server.server.registerCapabilities({ tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } })
  return server
}
