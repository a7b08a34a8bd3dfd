/** SEP-2322: its first example, where it says that input may not be asked for, and results without a type. */
import type { IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { clientCode, connect } from 'pannier/client'
import { createServer, type Server } from 'pannier/server'
import { describe, expect, onTestFinished } from 'vitest'
import { z } from 'zod'
import { hostUntil } from '../fixtures/until.ts'
import { quiet } from '../interop/fixtures/instances.ts'
import { proves } from '../proves.ts'
import { offerEcho, taskServer } from '../tasks/fixtures/echoServer.ts'
import { DOORS, type Message } from './fixtures/doors.ts'
import sep from '../../examples/documents/sep2322.json' with { type: 'json' }

// The table of methods names three kinds of requests; the example prints two of them.
const inputRequests = { ...sep.inputRequests, folders: { method: 'roots/list' } }
const inputResponses = { ...sep.inputResponses, folders: { roots: [{ uri: 'file:///home/octocat' }] } }
const ROUNDS = { elicitation: {}, sampling: {}, roots: {}, experimental: { 'dev.pannier/rounds': {} } }

function mixed(): Server {
  const server = createServer({ name: 'mixed', version: '1', logger: quiet })
  return server.tool('mixed', { description: 'Asks three at once.' }, async (_, ctx) => {
    const { message, requestedSchema } = sep.inputRequests.github_login.params
    const [{ name }, { content }, [root]] = await Promise.all([
      ctx.ask('github_login', { mode: 'form', message, schema: requestedSchema }),
      ctx.sample('capital_of_france', sep.inputRequests.capital_of_france.params as never),
      ctx.roots('folders'),
    ])
    return `${String(name)}, ${(content as { text: string }).text}, ${root?.uri}`
  })
}

const DONE = [{ type: 'text', text: 'octocat, The capital of France is Paris., file:///home/octocat' }]

describe.each(DOORS)('at %s', (_, era, openDoor) => {
  proves('MRTR-1 MRTR-2 MRTR-6', 'a form, a sampling and roots of one round are what SEP-2322 prints', async () => {
    const door = await openDoor(mixed(), ROUNDS)
    onTestFinished(door.close)
    const params = { name: 'mixed', arguments: {} }
    const asked = await door.send({ id: 1, method: 'tools/call', params })
    expect(asked.result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) })
    expect(asked.result?.['inputRequests']).toEqual(inputRequests)
    const { requestState } = asked.result as { requestState: string }
    const done = await door.send({ id: 2, method: 'tools/call', params: { ...params, inputResponses, requestState } })
    expect(done.result).toMatchObject({ resultType: 'complete', content: DONE })
  })

  proves('MRTR-7', 'of all methods that the SEP excludes none asks for input, whatever is sent along', async () => {
    const server = offerEcho(taskServer({ principal: () => ({ id: 'ann' }) }))
    server.prompt('letter', { description: 'A letter.', input: z.object({ to: z.string() }) }, () => 'Write.')
    server.completion({ prompt: 'letter', argument: 'to' }, () => ['Ann'])
    server.resource('docs://one', { name: 'one' }, () => 'one')
    server.resourceTemplate('docs://{name}', { name: 'any' }, () => 'any')
    const capabilities = { ...ROUNDS, extensions: { 'io.modelcontextprotocol/tasks': {} } }
    const door = await openDoor(server, capabilities)
    onTestFinished(door.close)
    const made = await door.send({
      id: 1,
      method: 'tools/call',
      params: { name: 'echo', arguments: {}, ...asTask[era] },
    })
    const { taskId } = (made.result?.['task'] ?? made.result) as { taskId: string }
    await untilAsked(door.send, taskId)
    for (const [id, [method, params]] of [...excluded.both, ...excluded[era]].entries()) {
      const sent = JSON.parse(JSON.stringify(params).replaceAll('TASK', taskId)) as object
      const extras = { inputResponses: { echo_input: { action: 'accept', content: {} } }, requestState: 'x' }
      const { result, error } = await door.send({ id: id + 100, method, params: { ...extras, ...sent } })
      expect(error, method).toBeUndefined()
      expect(result?.['resultType'] ?? 'complete', method).toBe('complete')
      expect(result, method).not.toHaveProperty('requestState')
      // In the modern dialect the task itself says what it asks; that result is complete.
      if (era === 'legacy' || method !== 'tasks/get') expect(result, method).not.toHaveProperty('inputRequests')
    }
  })
})

const asTask = { legacy: { task: { ttl: 60_000 } }, modern: {} } as const

const complete = { ref: { type: 'ref/prompt', name: 'letter' }, argument: { name: 'to', value: '' } }
const related = { _meta: { 'io.modelcontextprotocol/related-task': { taskId: 'TASK' } } }
const excluded: Readonly<Record<'both' | 'legacy' | 'modern', readonly (readonly [string, object])[]>> = {
  both: [
    ['completion/complete', complete],
    ['prompts/list', {}],
    ['resources/list', {}],
    ['resources/templates/list', {}],
    ['tools/list', {}],
    ['tasks/get', { taskId: 'TASK' }],
  ],
  legacy: [
    ['ping', {}],
    ['initialize', { protocolVersion: '2025-11-25', capabilities: ROUNDS }],
    ['logging/setLevel', { level: 'info' }],
    ['resources/subscribe', { uri: 'docs://one' }],
    ['resources/unsubscribe', { uri: 'docs://one' }],
    ['tasks/list', {}],
    ['tasks/input_response', related],
    ['tasks/cancel', { taskId: 'TASK' }],
  ],
  modern: [
    ['server/discover', {}],
    ['tasks/update', { taskId: 'TASK' }],
    ['tasks/cancel', { taskId: 'TASK' }],
  ],
}

async function untilAsked(send: (message: Message) => Promise<{ result?: Record<string, unknown> }>, taskId: string) {
  for (;;) {
    const { result } = await send({ id: 2, method: 'tasks/get', params: { taskId } })
    if (result?.['status'] === 'input_required') return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

interface Wire {
  readonly id?: number | string
  readonly method: string
  readonly params?: Record<string, unknown>
}

const OPENING: Readonly<Record<string, object>> = {
  'server/discover': {
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
  },
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {}, logging: {} },
    serverInfo: { name: 'played', version: '1' },
  },
}

/** A server that the test plays, of either era; gives its address, and what it was sent. */
async function play(
  era: 'legacy' | 'modern',
  answer: (message: Wire) => object,
): Promise<{ url: string; sent: Wire[] }> {
  const sent: Wire[] = []
  const reply = async (request: IncomingMessage): Promise<object | undefined> => {
    const message = (await json(request)) as Wire
    sent.push(message)
    if (message.id === undefined) return undefined
    const isUnknown = message.method === (era === 'legacy' ? 'server/discover' : 'initialize')
    const error = { code: -32601, message: 'Unknown method.' }
    const { id } = message
    return { jsonrpc: '2.0', id, ...(isUnknown ? { error } : { result: OPENING[message.method] ?? answer(message) }) }
  }
  const server = await hostUntil((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    return void reply(request).then((body) => {
      response.writeHead(body === undefined ? 202 : 200, { 'content-type': 'application/json' })
      response.end(body && JSON.stringify(body))
    })
  })
  return { url: server.url, sent }
}

type Connected = Awaited<ReturnType<typeof connect>>

const REQUESTS: readonly (readonly [string, (client: Connected) => Promise<unknown>])[] = [
  ['tools/list', (client) => client.listTools()],
  ['prompts/list', (client) => client.listPrompts()],
  ['resources/list', (client) => client.listResources()],
  ['resources/templates/list', (client) => client.listResourceTemplates()],
  ['completion/complete', (client) => client.complete(complete as never)],
]
const SESSION_REQUESTS: typeof REQUESTS = [
  ['ping', (client) => client.ping()],
  ['logging/setLevel', (client) => client.setLoggingLevel('info')],
  ['resources/subscribe', (client) => client.subscribeResource({ uri: 'docs://one' })],
  ['resources/unsubscribe', (client) => client.unsubscribeResource({ uri: 'docs://one' })],
]

describe.each([
  ['2026-07-28', 'modern'],
  ['2025-11-25', 'legacy'],
] as const)('our client at %s', (_, era) => {
  const answerers = {
    form: () => inputResponses.github_login,
    sampling: () => inputResponses.capital_of_france,
    roots: () => inputResponses.folders,
  }

  proves('MRTR-7', 'refuses questions in answer to requests in which no server may ask', async () => {
    const { url, sent } = await play(era, () => ({ resultType: 'input_required', inputRequests, requestState: 's' }))
    const client = await connect(url, { answerers, jar: false })
    onTestFinished(() => client.close())
    for (const [method, request] of [...REQUESTS, ...(era === 'legacy' ? SESSION_REQUESTS : [])]) {
      const error: unknown = await request(client).catch((cause: unknown) => cause)
      expect([clientCode(error), method]).toEqual(['RESULT_UNKNOWN', method])
    }
    expect(JSON.stringify(sent)).not.toContain('octocat')
  })

  proves('MRTR-5', 'takes a result without a resultType as complete', async () => {
    const results: Readonly<Record<string, object>> = {
      'tools/call': { content: [{ type: 'text', text: 'done' }] },
      'prompts/get': { messages: [] },
      'resources/read': { contents: [], ttlMs: 0, cacheScope: 'private' },
      'tools/list': { tools: [], ttlMs: 0, cacheScope: 'private' },
    }
    const { url, sent } = await play(era, ({ method }) => results[method] ?? {})
    const client = await connect(url, { answerers, jar: false })
    onTestFinished(() => client.close())
    expect(await client.callTool({ name: 'any', arguments: {} })).toMatchObject(results['tools/call']!)
    expect(await client.getPrompt({ name: 'any' })).toMatchObject({ messages: [] })
    expect(await client.readResource({ uri: 'docs://one' })).toMatchObject({ contents: [] })
    expect(await client.listTools()).toMatchObject({ tools: [] })
    expect(sent.filter(({ method }) => method === 'tools/call')).toHaveLength(1)
  })

  proves('MRTR-24', 'sends a call again at once that got a state and no questions', async () => {
    const { url, sent } = await play(era, ({ params }) =>
      params?.['requestState'] === undefined
        ? { resultType: 'input_required', requestState: 'shed' }
        : { resultType: 'complete', content: DONE },
    )
    const client = await connect(url, { answerers, jar: false })
    onTestFinished(() => client.close())
    expect(await client.callTool({ name: 'mixed', arguments: {} })).toMatchObject({ content: DONE })
    const calls = sent.filter(({ method }) => method === 'tools/call')
    expect(calls.map(({ params }) => params?.['requestState'])).toEqual([undefined, 'shed'])
    expect(calls[1]?.params).not.toHaveProperty('inputResponses')
  })

  proves('MRTR-2 MRTR-4 MRTR-25', 'answers the three requests of one round as SEP-2322 prints it', async () => {
    const { url, sent } = await play(era, ({ params }) =>
      params?.['inputResponses'] === undefined
        ? { resultType: 'input_required', inputRequests, requestState: 'foo' }
        : { resultType: 'complete', content: DONE },
    )
    const client = await connect(url, { answerers, jar: false })
    onTestFinished(() => client.close())
    expect(await client.callTool({ name: 'mixed', arguments: {} })).toMatchObject({ content: DONE })
    const calls = sent.filter(({ method }) => method === 'tools/call')
    expect(calls.map(({ params }) => params?.['inputResponses'])).toEqual([undefined, inputResponses])
    expect(calls.map(({ params }) => params?.['requestState'])).toEqual([undefined, 'foo'])
    expect(calls[0]?.id).not.toBe(calls[1]?.id)
  })
})
