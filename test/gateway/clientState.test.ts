/** Client-side state (SEP-1655) through a gateway: two servers use the same names, and never see each other's. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { connect } from 'pannier/client'
import { createServer, inputRequired } from 'pannier/server'
import { memoryJar } from 'pannier/state'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { proves } from '../proves.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import type { Incoming } from '../interop/fixtures/messageStream.ts'
import { post, RawSession } from '../interop/fixtures/rawSession.ts'
import { call as callTool, connectClient, sessionServer, startGateway, stdioEntry } from './fixtures/gateways.ts'

const SESSION = 'modelcontextprotocol.io/state/session'
const SERVER = 'modelcontextprotocol.io/state/server'
const META = 'io.modelcontextprotocol'
const KEEPS = { state: {} }

const ends: (() => unknown)[] = []
let url: string

/** Of the stateless era; remembers at the client only, and says all that came. */
async function modernKeeper(): Promise<string> {
  const server = createServer({ name: 'keeper', version: '1', keys: KEYS, logger: quiet })
  server.tool('remember', { description: 'Keeps.', input: z.object({ cart: z.string() }) }, ({ cart }, ctx) => {
    ctx.state.session.set('cart', cart)
    return `kept ${ctx.state.server.set('cart', `${cart} for ever`)}`
  })
  server.tool('recall', { description: 'Recalls.' }, (_, ctx) =>
    JSON.stringify([ctx.state.session.get('cart'), ctx.state.server.get('cart'), ctx.state.session.get('modern/cart')]),
  )
  server.tool('ask', { description: 'Sets, asks, and recalls.' }, (_, ctx) => {
    if (ctx.requestState !== undefined) return `asked with ${String(ctx.state.session.get('cart'))}`
    ctx.state.session.set('cart', 'set before')
    const go = { message: 'Go on?', schema: { type: 'object', properties: {} } }
    return inputRequired({ inputRequests: { go }, requestState: 'my own state' })
  })
  const listening = await server.listen({ drainOnTerm: false })
  ends.push(() => server.drain({ deadlineMs: 0 }))
  return listening.url
}

/** The same of the session era. */
function legacyKeeper(): McpServer {
  const server = new McpServer({ name: 'old-keeper', version: '1' })
  const said = (text: string) => [{ type: 'text' as const, text }]
  server.registerTool('remember', { description: 'Keeps.', inputSchema: { cart: z.string() } }, ({ cart }) => {
    const isKept = server.server.getClientCapabilities()?.extensions?.['dev.pannier/client-state'] !== undefined
    const _meta = { [SESSION]: { cart }, [SERVER]: { cart: `${cart} for ever` } }
    return { content: said(`kept ${isKept}`), ...(isKept && { _meta }) }
  })
  server.registerTool('recall', { description: 'Recalls.' }, ({ _meta }) => {
    const { [SESSION]: session, [SERVER]: kept } = (_meta ?? {}) as Record<string, Record<string, string>>
    return { content: said(JSON.stringify([session?.['cart'], kept?.['cart'], session?.['legacy/cart']])) }
  })
  return server
}

beforeAll(async () => {
  const until = (end: () => unknown): void => void ends.push(end)
  const { url: legacy } = await sessionServer(until, legacyKeeper)
  const servers = { modern: { url: await modernKeeper() }, legacy: { url: legacy } }
  const views = { both: { tools: ['*'], rename: { modern_recall: 'look' } } }
  ;({ url } = await startGateway(servers, {}, { gateway: { views } }, until))
})
afterAll(async () => {
  for (const end of ends.reverse()) await end()
})

type Call = (name: string, args?: object, state?: object, more?: object) => Promise<Incoming>

async function modern(capabilities: object): Promise<Call> {
  const own = { [`${META}/protocolVersion`]: '2026-07-28', [`${META}/clientCapabilities`]: capabilities }
  return async (name, args = {}, state = {}, more = {}) => {
    const params = { name, arguments: args, ...more, _meta: { ...own, ...state } }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name }
    const response = await post(url, headers, { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    return (await response.json()) as Incoming
  }
}

async function legacy(capabilities: object): Promise<Call> {
  const session = await RawSession.begin(url, { capabilities })
  return (name, args = {}, _meta = {}, more = {}) =>
    session.request('tools/call', { name, arguments: args, ...more, _meta })
}

const textOf = ({ result }: Incoming) => (result?.['content'] as { text: string }[] | undefined)?.[0]?.text
const kept = ({ result }: Incoming) => {
  const { [SESSION]: session, [SERVER]: server } = (result?.['_meta'] ?? {}) as Record<string, unknown>
  return { session, server }
}

describe.each([
  ['2026-07-28', modern],
  ['2025-11-25', legacy],
] as const)('a client of %s', (_, begin) => {
  proves(
    'CS-3 CS-13',
    'keeps what servers of both eras set under their names, and each sees its own alone',
    async () => {
      const call = await begin(KEEPS)
      for (const name of ['modern', 'legacy']) {
        const set = await call(`${name}_remember`, { cart: name })
        expect(textOf(set)).toBe('kept true')
        expect(kept(set)).toMatchObject({
          session: { [`${name}/cart`]: name },
          server: { [`${name}/cart`]: `${name} for ever` },
        })
      }
      const brought = {
        [SESSION]: {
          'modern/cart': 'm',
          'legacy/cart': 'l',
          cart: 'of nobody',
          'other/cart': 'o',
          'modern/modern/cart': '!',
        },
        [SERVER]: { 'modern/cart': 'M', 'legacy/cart': 'L' },
      }
      expect(textOf(await call('modern_recall', {}, brought))).toBe('["m","M","!"]')
      expect(textOf(await call('legacy_recall', {}, brought))).toBe('["l","L",null]')
      const foreign = { [SESSION]: { 'legacy/cart': 'l' }, [SERVER]: 7 }
      expect(textOf(await call('modern_recall', {}, foreign))).toBe('[null,null,null]')
    },
  )

  proves('CS-2', 'that keeps nothing is sent nothing', async () => {
    const call = await begin({})
    for (const name of ['modern_remember', 'legacy_remember']) {
      const set = await call(name, { cart: 'x' })
      expect(textOf(set)).toBe('kept false')
      expect(kept(set)).toEqual({})
    }
  })
})

proves(
  'CS-2 CS-13',
  "a server's own request state and questions pass untouched, with the state it sets beside",
  async () => {
    const call = await modern({ ...KEEPS, elicitation: {} })
    const asked = await call('modern_ask')
    expect(asked.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { go: { method: 'elicitation/create', params: { message: 'Go on?' } } },
      requestState: expect.any(String) as string,
      _meta: { [SESSION]: { 'modern/cart': 'set before' } },
    })
    const answers = {
      inputResponses: { go: { action: 'accept', content: {} } },
      requestState: asked.result?.['requestState'],
    }
    const state = { [SESSION]: { 'modern/cart': 'set before' } }
    expect(textOf(await call('modern_ask', {}, state, answers))).toBe('asked with set before')
  },
)

proves(
  'CS-2 CS-6',
  'what a server sets before it asks in place reaches its next round and the one result',
  async () => {
    const session = await RawSession.begin(url, { capabilities: { ...KEEPS, elicitation: {} } })
    const stream = await session.call('modern_ask')
    await session.answer(await stream.next(), { action: 'accept', content: {} })
    const done = await stream.next()
    expect(textOf(done)).toBe('asked with set before')
    expect(kept(done)).toMatchObject({ session: { 'modern/cart': 'set before' } })
    await session.end()
  },
)

async function said(client: Awaited<ReturnType<typeof connect>>, name: string, args = {}): Promise<string | undefined> {
  const { content } = await client.callTool({ name, arguments: args })
  return (content as { text: string }[])[0]?.text
}

test.each(['stateless', 'session'] as const)(
  'the jar of our client keeps two servers apart at /mcp, at /mcp/NAME and in a view, in the %s era',
  async (era) => {
    const jar = memoryJar()
    const base = { jar, context: 'one', allowLocal: true, era }
    const open = async (path: string) => connect(new URL(path, url).href, base)
    const [union, own, view] = await Promise.all([open('/mcp'), open('/mcp/modern'), open('/views/both')])
    await said(union, 'modern_remember', { cart: 'apples' })
    await said(union, 'legacy_remember', { cart: 'pears' })
    expect(await said(union, 'modern_recall')).toBe('["apples","apples for ever",null]')
    expect(await said(union, 'legacy_recall')).toBe('["pears","pears for ever",null]')
    expect(await said(own, 'recall')).toBe('["apples","apples for ever",null]')
    expect(await said(view, 'look')).toBe('["apples","apples for ever",null]')
    await said(own, 'remember', { cart: 'plums' })
    expect(await said(union, 'modern_recall')).toBe('["plums","plums for ever",null]')
    expect(await said(union, 'legacy_recall')).toBe('["pears","pears for ever",null]')
    await Promise.all([union, own, view].map((client) => client.close()))
    jar.close()
  },
)

proves('DT-20', 'callers without a name who keep state have a process each of a server that remembers', async () => {
  const { url: remembering } = await startGateway({ stdio: stdioEntry({ state: 'stateful' }) })
  const options = { jar: memoryJar(), allowLocal: true, era: 'stateless' } as const
  const [ann = expect.fail(), bob = expect.fail()] = await Promise.all(
    ['ann', 'bob'].map((context) => connect(remembering, { ...options, context })),
  )
  await said(ann, 'stdio_note', { text: 'a' })
  await said(bob, 'stdio_note', { text: 'b' })
  await said(ann, 'stdio_note', { text: 'c' })
  expect(await said(ann, 'stdio_recall')).toBe('a c')
  expect(await said(bob, 'stdio_recall')).toBe('b')
  const nobody = await connectClient('v2', remembering, {}, {})
  expect(await callTool(nobody, 'stdio_recall')).toBe('')
  await Promise.all([ann.close(), bob.close()])
})
