/** The messages of SEP-1655 as it prints them, and state in the results of every method. */
import { connect } from 'pannier/client'
import { createServer, type HookedMethod, type RequestContext, type Server } from 'pannier/server'
import { type Jar, memoryJar } from 'pannier/state'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { quiet } from '../interop/fixtures/instances.ts'
import type { Incoming } from '../interop/fixtures/messageStream.ts'
import { proves } from '../proves.ts'
import { taskServer } from '../tasks/fixtures/echoServer.ts'
import { DOORS } from './fixtures/doors.ts'
import sep from '../../examples/documents/sep1655.json' with { type: 'json' }

const SESSION = 'modelcontextprotocol.io/state/session'
const SERVER = 'modelcontextprotocol.io/state/server'
const { 'Coupon Code': coupon, ...cart } = sep.setting.result._meta[SESSION]

/** The shop of the document: its list of tools sets the cart, and the coupon for whoever has a cart already. */
function shop(): Server {
  const server = createServer({ name: 'shop', version: '1', pageSize: 1, logger: quiet })
  for (const name of ['add', 'pay'])
    server.tool(name, { description: `To ${name}.` }, (_, ctx) => String(ctx.state.session.get('Coupon Code')))
  return server.onResult('tools/list', ({ state }) => {
    for (const [name, value] of Object.entries(cart)) state.session.set(name, value)
    state.session.set('Coupon Code', coupon)
  })
}

/** A server whose every result counts, for each method, how often it was sent to this client. */
function counting(): Server {
  const server = createServer({ name: 'counting', version: '1', logger: quiet })
  const count = (name: string, { state, era }: RequestContext): void => {
    const before = state.server.get(name)
    state.server.set(name, (typeof before === 'number' ? before : 0) + 1)
    state.session.set('era', era)
  }
  server.tool('tool', { description: 'A tool.' }, () => 'done')
  server.prompt('prompt', { description: 'A prompt.', input: z.object({ topic: z.string() }) }, () => 'Write.')
  server.resource('docs://one', { name: 'one' }, () => 'one')
  server.completion({ prompt: 'prompt', argument: 'topic' }, (typed, _, ctx) => {
    count('completion/complete', ctx)
    return [`${typed}ats`]
  })
  for (const method of hooked) server.onResult(method, (ctx) => count(method, ctx))
  return server
}

const lists: HookedMethod[] = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']
const ofSessions: HookedMethod[] = ['ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']
const hooked: HookedMethod[] = [...lists, ...ofSessions, 'server/discover', 'initialize']

function metaOf({ result }: Incoming): Record<string, unknown> {
  return (result?.['_meta'] ?? {}) as Record<string, unknown>
}

const PARAMS: Readonly<Record<string, object>> = {
  'completion/complete': { ref: { type: 'ref/prompt', name: 'prompt' }, argument: { name: 'topic', value: 'c' } },
  'logging/setLevel': { level: 'info' },
  'resources/subscribe': { uri: 'docs://one' },
  'resources/unsubscribe': { uri: 'docs://one' },
}

describe.each(DOORS)('at %s', (_, era, openDoor) => {
  proves('CS-1 CS-2 CS-3', 'tools/list sets the cart, message by message as SEP-1655 prints it', async () => {
    const door = await openDoor(shop(), sep.capabilities)
    onTestFinished(door.close)
    const { method, id } = sep.sending
    const first = await door.send({ id, method })
    expect(first).toMatchObject({ jsonrpc: '2.0', id: sep.setting.id, result: { tools: [{ name: 'add' }] } })
    expect(metaOf(first)[SESSION]).toEqual(sep.setting.result._meta[SESSION])
    expect(metaOf(first)).not.toHaveProperty([SERVER])
    // The next request brings the state; what the SEP calls "optional-cursor-value" is a cursor of this server.
    const params = { ...sep.sending.params, cursor: first.result?.['nextCursor'] }
    const second = await door.send({ ...sep.sending, params })
    expect(second).toMatchObject({ id, result: { tools: [{ name: 'pay' }], _meta: sep.setting.result._meta } })
  })

  proves('CS-2 CS-19', 'every result may set state: lists, completion, and what opens a connection', async () => {
    const door = await openDoor(counting(), sep.capabilities)
    onTestFinished(door.close)
    const methods = [...lists, 'completion/complete', ...(era === 'modern' ? ['server/discover'] : ofSessions)]
    for (const [id, method] of methods.entries()) {
      const first = await door.send({ id, method, params: { ...PARAMS[method] } })
      expect(first.error, method).toBeUndefined()
      expect(first.result?.['_meta'], method).toMatchObject({ [SERVER]: { [method]: 1 }, [SESSION]: { era } })
      const _meta = { [SERVER]: { [method]: 7, other: 1 } }
      const next = await door.send({ id: 100 + id, method, params: { ...PARAMS[method], _meta } })
      expect(metaOf(next)[SERVER], method).toEqual({ [method]: 8 })
    }
    if (era === 'legacy')
      expect(door.initialized?.result).toMatchObject({
        protocolVersion: '2025-11-25',
        _meta: { [SERVER]: { initialize: 1 } },
      })
  })

  proves('CS-2', 'a client that keeps no state gets lists without any, and may share them', async () => {
    const door = await openDoor(shop(), {})
    onTestFinished(door.close)
    const { result } = await door.send({ id: 1, method: 'tools/list' })
    expect(JSON.stringify(result)).not.toContain('state/session')
    if (era === 'modern') expect(result).toMatchObject({ cacheScope: 'public' })
  })

  test('an error carries no state, and a hook that fails is an internal error', async () => {
    const server = shop().prompt('broken', { description: 'A prompt.' }, () => 'Write.')
    server.onResult('prompts/list', () => Promise.reject(new Error('secret')))
    const door = await openDoor(server, sep.capabilities)
    onTestFinished(door.close)
    const wrong = await door.send({ id: 1, method: 'tools/list', params: { cursor: 'optional-cursor-value' } })
    expect(wrong).toEqual({ jsonrpc: '2.0', id: 1, error: { code: -32602, message: expect.any(String) } })
    const failed = await door.send({ id: 2, method: 'prompts/list' })
    expect(failed).toEqual({ jsonrpc: '2.0', id: 2, error: { code: -32603, message: 'Internal error.' } })
  })
})

test('a list that sets state for one client is for no shared cache', async () => {
  const [, , openDoor] = DOORS[1]!
  const door = await openDoor(shop(), sep.capabilities)
  onTestFinished(door.close)
  expect((await door.send({ id: 1, method: 'tools/list' })).result).toMatchObject({ cacheScope: 'private' })
})

test('what is read from a public resource is for no shared cache when its handler sets state', async () => {
  const server = createServer({ name: 'public', version: '1', logger: quiet })
  server.resource('docs://one', { name: 'one', cacheScope: 'public', ttlMs: 1000 }, (_, ctx) => {
    ctx.state.session.set('visitor', 'ann')
    return 'one'
  })
  const [, , openDoor] = DOORS[1]!
  for (const [capabilities, cacheScope] of [
    [sep.capabilities, 'private'],
    [{}, 'public'],
  ] as const) {
    const door = await openDoor(server, capabilities)
    onTestFinished(door.close)
    const { result } = await door.send({ id: 1, method: 'resources/read', params: { uri: 'docs://one' } })
    expect(result).toMatchObject({ ttlMs: 1000, cacheScope })
  }
})

test.each([
  ['tools/call', 'onResult has no method "tools/call"'],
  ['completion/complete', 'Handlers have ctx.state themselves'],
])('a hook for the results of %s is refused', (method, sentence) => {
  const server = createServer({ name: 'refusing', version: '1', logger: quiet })
  expect(() => server.onResult(method as never, () => {})).toThrow(sentence)
})

proves('CS-27', 'what only describes a task, and a subscription, has no hook that could set state', () => {
  const server = createServer({ name: 'refusing', version: '1', logger: quiet })
  for (const method of [
    'tasks/get',
    'tasks/result',
    'tasks/update',
    'tasks/cancel',
    'tasks/list',
    'subscriptions/listen',
  ])
    expect(() => server.onResult(method as never, () => {}), method).toThrow(`onResult has no method "${method}"`)
})

/** A server whose tool sets state and runs as a task. */
function baking(): Server {
  const server = taskServer()
  return server.tool('bake', { description: 'Bakes bread.', task: 'required' }, (_, { state }) => {
    state.session.set('Loaves', 2)
    state.server.set('Customer', 4711)
    return 'baked'
  })
}

describe.each(DOORS)('a task at %s', (_, era, openDoor) => {
  proves('CS-27', 'sets in its result what its handler has set, and nothing before', async () => {
    const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
    const door = await openDoor(baking(), { ...sep.capabilities, ...(era === 'modern' && tasks) })
    onTestFinished(door.close)
    const params = { name: 'bake', arguments: {}, ...(era === 'legacy' && { task: {} }) }
    const made = await door.send({ id: 1, method: 'tools/call', params })
    expect(JSON.stringify(made)).not.toContain('Loaves')
    const { taskId } = (made.result?.['task'] ?? made.result) as { taskId: string }
    const result = await finishedResult((id, method) => door.send({ id, method, params: { taskId } }), era)
    expect(result['_meta']).toMatchObject({ [SESSION]: { Loaves: 2 }, [SERVER]: { Customer: 4711 } })
  })
})

/** The result of a task: in the session era that of `tasks/result`, in the stateless era a member of `tasks/get`. */
async function finishedResult(
  ask: (id: number, method: string) => Promise<Incoming>,
  era: 'legacy' | 'modern',
): Promise<Record<string, unknown>> {
  for (let id = 2; ; id++) {
    const { result } = await ask(id, 'tasks/get')
    if (result?.['status'] === 'completed' && era === 'modern') return result['result'] as Record<string, unknown>
    if (result?.['status'] === 'completed') return (await ask(id + 1, 'tasks/result')).result!
    expect(JSON.stringify(result)).not.toContain('Loaves')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

proves('CS-27', 'our client keeps what the result of a task sets', async () => {
  for (const mode of ['auto', 'legacy'] as const) {
    const { url, close } = await baking().listen({ drainOnTerm: false })
    onTestFinished(() => void close())
    const jar = memoryJar()
    const client = await connect(url, { jar, allowLocal: true, client: { versionNegotiation: { mode } } })
    expect(await client.callTool({ name: 'bake', arguments: {} })).toMatchObject({ content: [{ text: 'baked' }] })
    expect((await kept(jar)).toSorted(), mode).toEqual(['server Customer', 'session Loaves'])
    await client.close()
  }
})

test('a method has one hook, which is a function', () => {
  const server = shop()
  expect(() => server.onResult('tools/list', () => {})).toThrow('already a hook')
  expect(() => server.onResult('ping', undefined as never)).toThrow('needs a function')
})

describe.each([
  ['2026-07-28', 'auto', 'server/discover'],
  ['2025-11-25', 'legacy', 'initialize'],
] as const)('our client at %s', (_, mode, opening) => {
  proves('CS-2 CS-6 CS-8 CS-10 CS-11', 'keeps what a list and the opening set, until the session is over', async () => {
    const server = shop().onResult(opening, ({ state }) => void state.server.set('met', true))
    const { url, close } = await server.listen({ drainOnTerm: false })
    onTestFinished(() => void close())
    const jar = memoryJar()
    const open = () => connect(url, { jar, allowLocal: true, client: { versionNegotiation: { mode } } })
    const call = { name: 'add', arguments: {} }
    const client = await open()
    expect(await client.callTool(call)).toMatchObject({ content: [{ text: 'undefined' }] })
    await client.listTools()
    expect(await client.callTool(call)).toMatchObject({ content: [{ text: coupon }] })
    expect(await kept(jar)).toEqual(['server met', 'session Cart Contents', 'session Coupon Code'])
    await client.close()
    expect(await kept(jar)).toEqual(['server met'])
    const again = await open()
    expect(await again.callTool(call)).toMatchObject({ content: [{ text: 'undefined' }] })
    await again.close()
  })
})

async function kept(jar: Jar): Promise<string[]> {
  return (await jar.list()).map(({ scope, name }) => `${scope} ${name}`)
}

proves(
  'CS-13 CS-14',
  'what www.example.com sets is sent to it alone, whatever the port, and to no other host',
  async () => {
    const server = shop()
    const sent: string[] = []
    const reach = async (url: string | URL, init?: RequestInit): Promise<Response> => {
      const { host } = new URL(url)
      if (typeof init?.body === 'string' && init.body.includes(SESSION)) sent.push(host)
      return server.fetch(new Request(url, init))
    }
    const jar = memoryJar()
    const visit = async (host: string): Promise<unknown> => {
      const client = await connect(`https://${host}/mcp`, { jar, context: 'chat', fetch: reach })
      const told = await client.callTool({ name: 'add', arguments: {} })
      if (host === 'www.example.com') await client.listTools()
      await client.close()
      return told.content
    }
    const told = []
    for (const host of [
      'www.example.com',
      'other.example.com',
      'example.com',
      'www.example.com:8443',
      'WWW.EXAMPLE.COM.',
    ])
      told.push(await visit(host))
    const nothing = [{ type: 'text', text: 'undefined' }]
    const kept = [{ type: 'text', text: coupon }]
    expect(told).toEqual([nothing, nothing, nothing, kept, kept])
    expect(new Set(sent)).toEqual(new Set(['www.example.com', 'www.example.com:8443', 'www.example.com.']))
  },
)
