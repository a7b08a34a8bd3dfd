/** The official SDK's v2 client, which speaks 2026-07-28, over HTTP and over a child process's standard streams. */
import { Client, type ClientOptions, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { proves } from '../proves.ts'
import { commandOf, type Instance, startHere, STDIO_PROGRAM } from './fixtures/instances.ts'
import { README } from './fixtures/tools.ts'

const asking: ClientOptions = { capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } }
const text = (value: string) => ({ content: [{ type: 'text', text: value }] })
const call = (client: Client, name: string, args = {}) => client.callTool({ name, arguments: args })

let instance: Instance

beforeAll(async () => {
  instance = await startHere({ pageSize: 3 })
})
afterAll(() => instance.close())

describe.each([
  ['HTTP', () => new StreamableHTTPClientTransport(new URL(instance.url))],
  ['stdio', () => new StdioClientTransport(commandOf(STDIO_PROGRAM))],
] as const)('the v2 client over %s', (host, transport) => {
  let client: Client
  let mute: Client

  async function connect(options: ClientOptions): Promise<Client> {
    const connecting = new Client({ name: 'v2', version: '1' }, { versionNegotiation: { mode: 'auto' }, ...options })
    await connecting.connect(transport())
    return connecting
  }

  beforeAll(async () => {
    ;[client, mute] = await Promise.all([connect(asking), connect({})])
  })
  afterAll(() => Promise.all([client.close(), mute.close()]))

  test('negotiates 2026-07-28 and learns who answers', () => {
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
    expect(client.getServerVersion()).toMatchObject({ name: 'interop', version: '1.0.0' })
    expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: true }, completions: {} })
  })

  test('collects every tool from small pages', async () => {
    const first = await client.listTools({ cursor: 'tools-1' })
    expect(first).toMatchObject({ tools: { length: 3 }, nextCursor: 'tools-2' })
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names).toEqual(expect.arrayContaining(['echo', 'add', 'update_work_item', 'visits']))
  })

  test('calls tools and gets text and structured content, and mirrors parameters in headers', async () => {
    await client.listTools()
    expect(await call(client, 'echo', { text: 'hi' })).toMatchObject(text('hi'))
    expect(await call(client, 'add', { a: 1, b: 2 })).toMatchObject({ structuredContent: { sum: 3 } })
    expect(await call(client, 'query', { region: ' Zürich ' })).toMatchObject(text('from  Zürich '))
  })

  test('is told of an unknown tool, wrong arguments and an unknown resource', async () => {
    await expect(call(client, 'nothing')).rejects.toBeInstanceOf(ProtocolError)
    await expect(call(client, 'nothing')).rejects.toMatchObject({ code: -32602 })
    expect(await call(client, 'echo', { text: 7 })).toMatchObject({ isError: true })
    await expect(client.readResource({ uri: 'docs://none' })).rejects.toMatchObject({ code: -32602 })
  })

  test('gets prompts, resources, templates and completions', async () => {
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('review')
    expect(await client.getPrompt({ name: 'review', arguments: { topic: 'code' } })).toMatchObject({
      messages: [{ role: 'user', content: { text: 'Review the code.' } }],
    })
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toContain(README)
    expect(await client.readResource({ uri: README })).toMatchObject({ contents: [{ text: 'Read me.' }] })
    expect(await client.readResource({ uri: 'docs://logo' })).toMatchObject({ contents: [{ blob: 'AQID' }] })
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['pages://{name}'])
    expect(await client.readResource({ uri: 'pages://one' })).toMatchObject({ contents: [{ text: 'The page one.' }] })
    const prompt = { type: 'ref/prompt', name: 'review' } as const
    const template = { type: 'ref/resource', uri: 'pages://{name}' } as const
    expect(
      (await client.complete({ ref: prompt, argument: { name: 'topic', value: 'co' } })).completion.values,
    ).toEqual(['code', 'colour'])
    expect(
      (await client.complete({ ref: template, argument: { name: 'name', value: 'p' } })).completion.values,
    ).toEqual(['prose'])
  })

  test('hears progress while a call is under way', async () => {
    const heard: unknown[] = []
    const onprogress = (progress: object): void => {
      if (heard.push(progress) === 3) void call(client, 'heard')
    }
    expect(await client.callTool({ name: 'count' }, { onprogress })).toMatchObject(text('counted'))
    expect(heard).toEqual([1, 2, 3].map((step) => ({ progress: step, total: 3, message: `step ${step}` })))
  })

  test('hears log messages from the level it asked for, and none when it asked for none', async () => {
    const heard: unknown[] = []
    client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params.data))
    await call(client, 'chatter')
    expect(heard).toEqual([])
    await client.callTool({ name: 'chatter', _meta: { 'io.modelcontextprotocol/logLevel': 'info' } })
    expect(heard).toEqual(['said at info', 'said at error'])
  })

  test('cancels a call, and the handler is told', async () => {
    const abort = new AbortController()
    const held = client.callTool({ name: 'hold' }, { signal: abort.signal, onprogress: () => abort.abort() })
    await expect(held).rejects.toThrow()
    expect(await call(client, 'released')).toMatchObject(text('1 cancelled'))
  })

  proves('MRTR-6', `tools, prompts and resources ask the v2 client over ${host} in rounds`, async () => {
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ann' } }))
    expect(await call(client, 'greet')).toMatchObject(text('Hello Ann'))
    expect(await call(client, 'greet_two')).toMatchObject(text('Hello Ann and Ann'))
    const letter = await client.getPrompt({ name: 'letter' })
    expect(letter).toMatchObject({ messages: [{ content: { text: 'Write to Ann.' } }] })
    const diary = await client.readResource({ uri: 'docs://diary' })
    expect(diary).toMatchObject({ contents: [{ text: 'The diary of Ann.' }] })
  })

  test('plays the two rounds of the work-item flow', async () => {
    const answers = [{ resolution: 'Duplicate' }, { duplicateOfId: 4301 }]
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: answers.shift()! }))
    const done = await call(client, 'update_work_item', { workItemId: 4522, fields: { 'System.State': 'Resolved' } })
    expect(done.content).toMatchObject([{ text: expect.stringContaining('resolved as Duplicate of Bug #4301') }])
  })

  test('answers sampling, roots and a page to visit, and may decline', async () => {
    const wrote = { type: 'text', text: 'in short' } as const
    client.setRequestHandler('sampling/createMessage', () => ({ model: 'm', role: 'assistant', content: wrote }))
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///work' }] }))
    client.setRequestHandler('elicitation/create', ({ params }) => ({
      action: params.mode === 'url' ? 'accept' : 'decline',
    }))
    expect(await call(client, 'sum_up')).toMatchObject({ content: [{ text: expect.stringContaining('in short') }] })
    expect(await call(client, 'folders')).toMatchObject(text('file:///work'))
    expect(await call(client, 'sign_in')).toMatchObject(text('signed in'))
    expect(await call(client, 'greet')).toMatchObject({ isError: true, ...text('The question "name" was declined.') })
  })

  test('that declared nothing is told which capability a tool needs', async () => {
    await expect(call(mute, 'greet')).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: { form: {} } } },
    })
  })

  test('listens for list changes and resource updates, and for nothing else', async () => {
    const heard: string[] = []
    const updated = new Promise<void>((resolve) => {
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
        heard.push(params.uri)
        resolve()
      })
    })
    client.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('tools'))
    client.setNotificationHandler('notifications/prompts/list_changed', () => void heard.push('prompts'))
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: [README] })
    await call(client, 'grow', { name: 'late' })
    await call(client, 'touch', { uri: 'docs://logo' })
    await call(client, 'touch', { uri: README })
    await updated
    expect(heard).toEqual(['tools', README])
    await subscription.close()
    expect(await subscription.closed).toBe('local')
  })
})

describe('the v2 client in its session era', () => {
  let client: Client

  beforeAll(async () => {
    client = new Client({ name: 'v2', version: '1' }, asking)
    await client.connect(new StreamableHTTPClientTransport(new URL(instance.url)))
  })
  afterAll(() => client.close())

  test('initializes at 2025-11-25, pings, lists and calls', async () => {
    expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25')
    expect(await client.ping()).toEqual({})
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo')
    expect(await call(client, 'add', { a: 1, b: 2 })).toMatchObject({ structuredContent: { sum: 3 } })
  })

  test('is asked within its call, and hears of what it subscribed to', async () => {
    client.setRequestHandler('elicitation/create', ({ params }) => ({
      action: 'accept',
      ...(params.mode !== 'url' && { content: { name: 'Ann' } }),
    }))
    expect(await call(client, 'greet_two')).toMatchObject(text('Hello Ann and Ann'))
    expect(await call(client, 'sign_in')).toMatchObject(text('signed in'))
    const updated = new Promise((resolve) => {
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => resolve(params.uri))
    })
    await client.subscribeResource({ uri: README })
    await call(client, 'touch', { uri: README })
    expect(await updated).toBe(README)
  })
})
