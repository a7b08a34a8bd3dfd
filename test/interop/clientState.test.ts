/** What a server lets its clients keep for it (SEP-1655), in both eras. */
import { inputRequired, createServer, text as textResult } from 'pannier/server'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { proves } from '../proves.ts'
import { type Instance, KEYS, quiet, startHere } from './fixtures/instances.ts'
import type { Incoming } from './fixtures/messageStream.ts'
import { post, RawSession } from './fixtures/rawSession.ts'

const SESSION = 'modelcontextprotocol.io/state/session'
const SERVER = 'modelcontextprotocol.io/state/server'
const META = 'io.modelcontextprotocol'

const seed = { state: {} }
const extension = { extensions: { 'dev.pannier/client-state': {} } }

/** Calls a tool with client-side state along; gives the whole response. */
type Call = (name: string, args?: object, state?: object, more?: object) => Promise<Incoming>

let instance: Instance

beforeAll(async () => {
  instance = await startHere()
})
afterAll(() => instance.close())

async function modern(capabilities: object): Promise<Call> {
  const own = { [`${META}/protocolVersion`]: '2026-07-28', [`${META}/clientCapabilities`]: capabilities }
  return async (name, args = {}, state = {}, more = {}) => {
    const params = { name, arguments: args, ...more, _meta: { ...own, ...state } }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name }
    const response = await post(instance.url, headers, { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    return (await response.json()) as Incoming
  }
}

async function legacy(capabilities: object): Promise<Call> {
  const session = await RawSession.begin(instance.url, { capabilities })
  return (name, args = {}, _meta = {}, more = {}) =>
    session.request('tools/call', { name, arguments: args, ...more, _meta })
}

const said = (value: string) => ({ result: { content: [{ text: value }] } })
const kept = (message: Incoming) => {
  const meta = (message.result?.['_meta'] ?? {}) as Record<string, unknown>
  return { session: meta[SESSION], server: meta[SERVER] }
}

describe.each([
  ['2026-07-28', 'capabilities.state', modern, seed],
  ['2026-07-28', 'the extension', modern, extension],
  ['2025-11-25', 'capabilities.state', legacy, seed],
  ['2025-11-25', 'the extension', legacy, extension],
] as const)('at %s, declared by %s', (_, __, connect, capabilities) => {
  let call: Call

  beforeAll(async () => {
    call = await connect(capabilities)
  })

  proves(
    'CS-2 CS-3 CS-4',
    'a tool sets state of either scope by name, with any JSON value, in its result',
    async () => {
      for (const value of ['a', 7, false, ['x'], { deep: { er: [1] } }]) {
        const session = await call('remember', { scope: 'session', name: 'cart', value })
        expect(kept(session)).toEqual({ session: { cart: value }, server: undefined })
        const server = await call('remember', { scope: 'server', name: 'cart', value })
        expect(kept(server)).toEqual({ session: undefined, server: { cart: value } })
      }
    },
  )

  proves('CS-5', 'deleting sends null, and a null that comes back reads as nothing', async () => {
    expect(kept(await call('forget', { scope: 'server', name: 'cart' }))).toEqual({ server: { cart: null } })
    const recalled = await call('recall', { scope: 'server', name: 'cart' }, { [SERVER]: { cart: null } })
    expect(recalled).toMatchObject(said('nothing'))
  })

  proves('CS-6 CS-7', 'a result says only what changed, and a name is replaced as a whole', async () => {
    const before = { [SESSION]: { cart: { a: 1, b: 2 }, other: true } }
    const changed = await call('remember', { scope: 'session', name: 'cart', value: { a: 3 } }, before)
    expect(kept(changed)).toEqual({ session: { cart: { a: 3 } } })
    expect(kept(await call('recall', { scope: 'session', name: 'cart' }, before))).toEqual({})
  })

  proves(
    'CS-3',
    'a tool reads what the client kept, also under the http:// spelling, and what it has just set',
    async () => {
      const args = { scope: 'session', name: 'cart' }
      expect(await call('recall', args, { [SESSION]: { cart: [1] } })).toMatchObject(said('[1]'))
      expect(await call('recall', args, { [`http://${SESSION}`]: { cart: [2] } })).toMatchObject(said('[2]'))
      expect(await call('recall', args, { [SERVER]: { cart: [3] } })).toMatchObject(said('nothing'))
      expect(await call('read_back')).toMatchObject(said('[{"at":1},null]'))
    },
  )

  proves(
    'CS-12',
    'a server goes on when the client has cleared its state, or sends something else in its place',
    async () => {
      expect(await call('visits', {}, { [SERVER]: { visits: 4 } })).toMatchObject(said('visit 5'))
      expect(await call('visits')).toMatchObject(said('visit 1'))
      for (const broken of [null, 7, 'x', [], { visits: 'many' }]) {
        expect(await call('visits', {}, { [SERVER]: broken })).toMatchObject(said('visit 1'))
      }
    },
  )

  proves('CS-4', 'names that mean something to the language are names like others', async () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']) {
      const args = { scope: 'session', name }
      expect(await call('recall', args)).toMatchObject(said('nothing'))
      const set = await call('remember', { ...args, value: { polluted: true } })
      expect(Object.entries(kept(set).session as object)).toEqual([[name, { polluted: true }]])
      const state = JSON.parse(`{${JSON.stringify(SESSION)}:{${JSON.stringify(name)}:"kept"}}`) as object
      expect(await call('recall', args, state)).toMatchObject(said('"kept"'))
    }
    expect({}).not.toHaveProperty('polluted')
  })
})

describe.each([
  ['2026-07-28', modern],
  ['2025-11-25', legacy],
] as const)('at %s', (_, connect) => {
  proves('CS-2', 'a client that did not declare state is never sent any, and what it sends is not read', async () => {
    const call = await connect({})
    const set = await call('remember', { scope: 'session', name: 'cart', value: 1 })
    expect(set).toMatchObject(said('not kept'))
    expect(kept(set)).toEqual({})
    const recalled = await call('recall', { scope: 'session', name: 'cart' }, { [SESSION]: { cart: 1 } })
    expect(recalled).toMatchObject(said('nothing'))
  })

  proves('CS-2 CS-6', 'state is set on an interim result as well as on the last one', async () => {
    const call = await connect({ ...seed, elicitation: {}, experimental: { 'dev.pannier/rounds': {} } })
    const first = await call('ask_with_state')
    expect(first).toMatchObject({ result: { resultType: 'input_required' } })
    expect(kept(first)).toEqual({ session: { asked: true } })
    const answer = { colour: { action: 'accept', content: { colour: 'green' } } }
    const more = { inputResponses: answer, requestState: first.result?.['requestState'] }
    const last = await call('ask_with_state', {}, { [SESSION]: { asked: true } }, more)
    expect(kept(last)).toEqual({ session: { asked: true }, server: { colour: 'green' } })
  })
})

proves(
  'CS-2 CS-6',
  'state that a handler in explicit style set before it asked in place is in the one result there is',
  async () => {
    const server = createServer({ name: 'explicit', version: '1', keys: KEYS, logger: quiet })
    server.tool('explicit', { description: 'Asks by hand.' }, (_, ctx) => {
      if (ctx.requestState === undefined) {
        ctx.state.session.set('asked', 1)
        const form = { message: 'Go on?', schema: { type: 'object', properties: {} } }
        return inputRequired({ inputRequests: { go: form }, requestState: 'asked' })
      }
      return textResult(`asked ${String(ctx.state.session.get('asked'))}`)
    })
    const { url, close } = await server.listen()
    const session = await RawSession.begin(url, { capabilities: { ...seed, elicitation: {} } })
    const call = await session.call('explicit')
    await session.answer(await call.next(), { action: 'accept', content: {} })
    const done = await call.next()
    expect(done).toMatchObject(said('asked 1'))
    expect(kept(done)).toEqual({ session: { asked: 1 } })
    await session.end()
    void close()
  },
)
