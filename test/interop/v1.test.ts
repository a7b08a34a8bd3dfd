/** The official SDK's v1 client, which speaks the session era, over HTTP and over a child process's standard streams. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  type ClientCapabilities,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { proves } from '../proves.ts'
import { commandOf, type Instance, startHere, STDIO_PROGRAM } from './fixtures/instances.ts'
import { README } from './fixtures/tools.ts'

const asking: ClientCapabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
const text = (value: string) => ({ content: [{ type: 'text', text: value }] })
const call = (client: Client, name: string, args = {}) => client.callTool({ name, arguments: args })
const answering = (client: Client, content: () => Record<string, string | number>) =>
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: content() }))

let instance: Instance

beforeAll(async () => {
  instance = await startHere({ pageSize: 3 })
})
afterAll(() => instance.close())

describe.each([
  ['HTTP', () => new StreamableHTTPClientTransport(new URL(instance.url)) as Transport],
  ['stdio', () => new StdioClientTransport(commandOf(STDIO_PROGRAM)) as Transport],
] as const)('the v1 client over %s', (host, transport) => {
  let client: Client
  let mute: Client
  const faults: Error[] = []

  async function connect(capabilities: ClientCapabilities): Promise<Client> {
    const connecting = new Client({ name: 'v1', version: '1' }, { capabilities })
    connecting.onerror = (error) => void faults.push(error)
    await connecting.connect(transport())
    return connecting
  }

  /** What the transport says of its own end is no fault. */
  function close(closing: Client): Promise<void> {
    delete closing.onerror
    return closing.close()
  }

  beforeAll(async () => {
    ;[client, mute] = await Promise.all([connect(asking), connect({})])
  })
  afterAll(async () => {
    expect(faults).toEqual([])
    await Promise.all([close(client), close(mute)])
  })

  test('initializes, pings and learns who answers', async () => {
    expect(client.getServerVersion()).toMatchObject({ name: 'interop', version: '1.0.0' })
    expect(client.getServerCapabilities()).toMatchObject({ resources: { subscribe: true }, logging: {} })
    expect(await client.ping()).toEqual({})
  })

  test('walks the pages of a list', async () => {
    const names: string[] = []
    let cursor: string | undefined
    do {
      const page = await client.listTools({ cursor })
      names.push(...page.tools.map(({ name }) => name))
      cursor = page.nextCursor
    } while (cursor !== undefined)
    expect(names).toEqual(expect.arrayContaining(['echo', 'add', 'update_work_item', 'visits']))
    await expect(client.listTools({ cursor: 'tools-999' })).rejects.toMatchObject({ code: -32602 })
  })

  test('calls tools, and is told of an unknown tool, wrong arguments and an unknown resource', async () => {
    await client.listTools()
    expect(await call(client, 'echo', { text: 'hi' })).toMatchObject(text('hi'))
    expect(await call(client, 'add', { a: 1, b: 2 })).toMatchObject({ structuredContent: { sum: 3 } })
    expect(await call(client, 'query', { region: 'Zürich' })).toMatchObject(text('from Zürich'))
    expect(await call(client, 'echo', { text: 7 })).toMatchObject({ isError: true })
    await expect(call(client, 'nothing')).rejects.toMatchObject({ code: -32602 })
    await expect(client.readResource({ uri: 'docs://none' })).rejects.toMatchObject({ code: -32602 })
  })

  test('gets prompts, resources, templates and completions', async () => {
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('review')
    expect(await client.getPrompt({ name: 'review', arguments: { topic: 'code' } })).toMatchObject({
      messages: [{ role: 'user', content: { text: 'Review the code.' } }],
    })
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toContain(README)
    expect(await client.readResource({ uri: 'docs://logo' })).toMatchObject({ contents: [{ blob: 'AQID' }] })
    expect(await client.listResourceTemplates()).toMatchObject({
      resourceTemplates: [{ uriTemplate: 'pages://{name}' }],
    })
    expect(await client.readResource({ uri: 'pages://one' })).toMatchObject({ contents: [{ text: 'The page one.' }] })
    const argument = { name: 'topic', value: 'co' }
    const { completion } = await client.complete({ ref: { type: 'ref/prompt', name: 'review' }, argument })
    expect(completion.values).toEqual(['code', 'colour'])
  })

  test('hears progress while a call is under way', async () => {
    const heard: unknown[] = []
    const onprogress = (progress: object): void => {
      if (heard.push(progress) === 3) void call(client, 'heard')
    }
    expect(await client.callTool({ name: 'count' }, undefined, { onprogress })).toMatchObject(text('counted'))
    expect(heard).toEqual([1, 2, 3].map((step) => ({ progress: step, total: 3, message: `step ${step}` })))
  })

  test('hears log messages from the level it set', async () => {
    const heard: unknown[] = []
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void heard.push(params.data))
    await client.setLoggingLevel('error')
    await call(client, 'chatter')
    expect(heard).toEqual(['said at error'])
  })

  test('cancels a call, and the handler is told', async () => {
    const abort = new AbortController()
    const options = { signal: abort.signal, onprogress: () => abort.abort() }
    await expect(client.callTool({ name: 'hold' }, undefined, options)).rejects.toThrow()
    expect(await call(client, 'released')).toMatchObject(text('1 cancelled'))
  })

  proves('RA-5 RA-8', `a form is pushed to the v1 client over ${host} within the call that needs it`, async () => {
    answering(client, () => ({ name: 'Ann' }))
    expect(await call(client, 'greet')).toMatchObject(text('Hello Ann'))
    expect(await call(client, 'greet_two')).toMatchObject(text('Hello Ann and Ann'))
    const letter = await client.getPrompt({ name: 'letter' })
    expect(letter).toMatchObject({ messages: [{ content: { text: 'Write to Ann.' } }] })
    const diary = await client.readResource({ uri: 'docs://diary' })
    expect(diary).toMatchObject({ contents: [{ text: 'The diary of Ann.' }] })
  })

  proves('RA-4 RA-6', `sampling, roots and pages reach the v1 client over ${host} within their call`, async () => {
    const wrote = { type: 'text', text: 'in short' } as const
    client.setRequestHandler(CreateMessageRequestSchema, () => ({ model: 'm', role: 'assistant', content: wrote }))
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///work' }] }))
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
      action: params.mode === 'url' && params.url === 'https://login.example.com/start' ? 'accept' : 'decline',
    }))
    expect(await call(client, 'sum_up')).toMatchObject({ content: [{ text: expect.stringContaining('in short') }] })
    expect(await call(client, 'folders')).toMatchObject(text('file:///work'))
    expect(await call(client, 'sign_in')).toMatchObject(text('signed in'))
    expect(await call(client, 'greet')).toMatchObject({ isError: true, ...text('The question "name" was declined.') })
  })

  test('is asked again until an answer fits, but not forever', async () => {
    const answers = [{ name: 1 }, { nobody: 'x' }, { name: 'Ann' }]
    answering(client, () => answers.shift()!)
    expect(await call(client, 'greet')).toMatchObject(text('Hello Ann'))
    let asked = 0
    answering(client, () => ({ name: asked++ }))
    expect(await call(client, 'greet')).toMatchObject({ isError: true })
    expect(asked).toBe(5)
  })

  test('that cannot answer makes the call fail, and that declared nothing is not asked', async () => {
    client.setRequestHandler(ElicitRequestSchema, () => {
      throw new Error('no window')
    })
    expect(await call(client, 'greet')).toMatchObject({ isError: true, ...text('The client could not answer.') })
    await expect(call(mute, 'greet')).rejects.toMatchObject({ code: -32021 })
  })

  proves('RA-1 RA-3', `two calls of the v1 client over ${host} get each its own answers`, async () => {
    const others = await connect(asking)
    answering(client, () => ({ name: 'Ann' }))
    answering(others, () => ({ name: 'Bob' }))
    const calls = [call(client, 'greet'), call(others, 'greet'), call(client, 'greet_two'), call(others, 'greet_two')]
    expect(await Promise.all(calls)).toMatchObject(
      ['Hello Ann', 'Hello Bob', 'Hello Ann and Ann', 'Hello Bob and Bob'].map(text),
    )
    await close(others)
  })

  proves('RA-12', `a question after its call has ended is refused, over ${host}`, async () => {
    answering(client, () => ({ name: 'Ann' }))
    expect(await call(client, 'keep')).toMatchObject(text('kept'))
    client.setRequestHandler(ElicitRequestSchema, () => {
      throw new Error('asked outside a call')
    })
    expect(await call(client, 'ask_late')).toMatchObject(text(Array(5).fill('SCOPE_CLOSED').join(' ')))
  })

  test('hears of list changes, and of resources it subscribed to', async () => {
    const heard: string[] = []
    const next = () =>
      new Promise<void>((resolve) => {
        client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
          heard.push(params.uri)
          resolve()
        })
      })
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.push('tools'))
    const updated = next()
    expect(await client.subscribeResource({ uri: README })).toEqual({})
    await call(client, 'grow', { name: 'late' })
    await call(client, 'touch', { uri: 'docs://logo' })
    await call(client, 'touch', { uri: README })
    await updated
    expect(heard).toEqual(['tools', README])

    await client.unsubscribeResource({ uri: README })
    await client.subscribeResource({ uri: 'docs://logo' })
    const another = next()
    await call(client, 'touch', { uri: README })
    await call(client, 'touch', { uri: 'docs://logo' })
    await another
    expect(heard).toEqual(['tools', README, 'docs://logo'])
  })
})
