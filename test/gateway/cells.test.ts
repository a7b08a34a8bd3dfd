/** What the gateway says of the cells of its servers: which clients can do what with them. Each limit is shown to be one. */
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CreateTaskResultSchema, LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import type { ServerOptions } from 'pannier/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { lostText, servedText } from '../../src/cli/output/served.ts'
import { cellsText } from '../../src/probe/internal.ts'
import { sdkTasks } from '../client/fixtures/servers/tasksSdkV1.ts'
import { listening, taskServer } from '../tasks/fixtures/echoServer.ts'
import { call, connectClient, modernServer, sessionServer, startGateway, stdioEntry } from './fixtures/gateways.ts'
import { ask } from './fixtures/statelessRequest.ts'

const principal: ServerOptions['principal'] = async ({ header }) => ({ id: header('x-user') ?? 'nobody' })

interface ServerPage {
  readonly servers: {
    readonly name: string
    readonly clients?: { readonly works: string; readonly sentence: string; readonly limits: { kind: string }[] }[]
  }[]
}

test('/servers says which clients can do what with each server, and why not; the table leads there', async () => {
  const servers = {
    modern: { url: (await modernServer()).url },
    sessions: { url: (await sessionServer()).url },
    process: stdioEntry(),
    shared: stdioEntry({ state: 'stateless' }),
    gone: { url: 'http://127.0.0.1:9/mcp' },
  }
  const { gateway } = await startGateway(servers, {}, { gateway: { admin: { port: 0 } } })
  expect(lostText(gateway)).toEqual([])
  expect(servedText(gateway)).toContain('/servers lists what differs between them.')
  expect(servedText(gateway)).toMatch(/^NEEDS ATTENTION\ngone {2}not there: /)
  const cells = gateway.backends.map((backend) => gateway.cellsOf(backend))
  expect(cells.map((each) => each && cellsText(each))).toEqual([
    'both eras',
    'limits in lists, memory (stateless)',
    'limits in lists, memory (stateless)',
    'limits in logs',
    undefined,
  ])
  const admin = await gateway.listenAdmin()
  const page = (await (await fetch(`${admin?.url}servers`)).json()) as ServerPage
  const clients = page.servers.map((server) => server.clients?.map(({ sentence }) => sentence))
  expect(clients[0]).toEqual(['Clients of the stateless era: everything.', 'Clients of the session era: everything.'])
  expect(clients[1]?.[0]).toMatch(
    /^Clients of the stateless era: everything, but lists .*; callers without a name share/,
  )
  expect(clients[4]).toBeUndefined()
  await gateway.judged()
  const { servers: judged } = JSON.parse(await (await fetch(`${admin?.url}servers`)).text())
  expect(judged[0].verdict).toMatchObject({ ageSeconds: expect.any(Number), checkedAt: expect.any(String) })
})

test('a server that is refused serves no client, and the table says so', async () => {
  const { gateway } = await startGateway({ process: stdioEntry() }, {}, { gateway: { stateful: 'reject' } })
  expect(servedText(gateway)).toMatch(/^NEEDS ATTENTION\nprocess {2}refused: .*\n\nSERVER .*\nprocess .* not served$/m)
})

test('of shared processes only clients that can be asked hear log messages', async () => {
  const { url } = await startGateway({ shared: stdioEntry({ state: 'stateless' }) })
  const heard: string[] = []
  for (const [name, capabilities] of Object.entries({ asked: { elicitation: {} }, unasked: {} })) {
    const client = (await connectClient('v1', url, {}, capabilities)) as unknown as ClientV1
    client.setNotificationHandler(LoggingMessageNotificationSchema, () => void heard.push(name))
    await client.callTool({ name: 'shared_steps', arguments: {} })
  }
  expect(heard).toEqual(['asked'])
})

test('what a caller changes in a process of their own is in no list', async () => {
  const { url } = await startGateway({ process: stdioEntry() })
  const client = await connectClient('v1', url)
  const before = (await client.listTools()).tools.length
  await call(client, 'process_grow')
  expect((await client.listTools()).tools).toHaveLength(before)
})

test('while a call of a stateless caller waits, another one has a process without what was kept', async () => {
  const { url } = await startGateway({ process: stdioEntry() }, { principal })
  const ann = async (name: string, args = {}) =>
    ask(url, { params: { name, arguments: args }, headers: { 'x-user': 'ann' } })
  const recalled = async () => (await ann('process_recall')).result?.['content']
  await ann('process_note', { text: 'milk' })
  expect(await recalled()).toMatchObject([{ text: 'milk' }])
  expect((await ann('process_confirm')).result).toMatchObject({ resultType: 'input_required' })
  expect(await recalled()).toMatchObject([{ text: '' }])
})

test('stateless callers without a name share what a server keeps, and those with one do not', async () => {
  const entry = { process: stdioEntry() }
  const [nameless, known] = [await startGateway(entry), await startGateway(entry, { principal })]
  for (const [{ url }, text] of [
    [nameless, 'milk'],
    [known, ''],
  ] as const) {
    const [ann, bob] = ['ann', 'bob'].map((user) => connectClient('v2', url, { 'x-user': user }))
    await call((await ann) ?? expect.fail(), 'process_note', { text: 'milk' })
    expect(await call((await bob) ?? expect.fail(), 'process_recall')).toBe(text)
  }
})

test('session-era clients list no tasks of a stateless server', async () => {
  const { url, gateway } = await startGateway({ ours: { url: await listening(taskServer()) } })
  const client = await connectClient('v1', url)
  expect(client.getServerCapabilities()).toMatchObject({ tasks: { cancel: {} } })
  expect(client.getServerCapabilities()).not.toHaveProperty('tasks.list')
  const [backend] = gateway.backends
  expect(gateway.cellsOf(backend ?? expect.fail())?.[1].sentence).toContain('there is no tasks/list')
})

test('behind several gateways a task is lost with the one where it began', async () => {
  const entry = { sdk: { url: (await sessionServer(undefined, sdkTasks)).url } }
  const [owner, other] = [await startGateway(entry), await startGateway(entry)]
  const client = new ClientV1({ name: 'v1', version: '1' }, { capabilities: { tasks: {} } })
  const transport = new HttpV1(new URL(owner.url))
  await client.connect(transport)
  onTestFinished(() => client.close())
  const created = { method: 'tools/call', params: { name: 'sdk_endless', arguments: {}, task: {} } } as const
  const { task } = await client.request(created, CreateTaskResultSchema)
  const elsewhere = new ClientV1({ name: 'v1', version: '1' })
  await elsewhere.connect(new HttpV1(new URL(other.url), { sessionId: transport.sessionId ?? '' }))
  onTestFinished(() => elsewhere.close())
  await elsewhere.listTools()
  // They meet by what the client brought.
  const [backend] = other.gateway.backends
  await vi.waitFor(() => {
    const [, session] = other.gateway.cellsOf(backend ?? expect.fail()) ?? []
    expect(session?.sentence).toContain('a task lives in the gateway where it began, and is lost with it')
  })
  expect(lostText(other.gateway)).toEqual([
    'What a caller has at sdk is lost with the process of the gateway that has it (see --postgres).',
  ])
  await owner.gateway.drain({ deadlineMs: 0 })
  await expect(elsewhere.experimental.tasks.getTask(task.taskId)).rejects.toThrow('process of the gateway')
})
