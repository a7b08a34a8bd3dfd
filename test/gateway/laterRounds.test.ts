/** What callers hear when something fails between the rounds of their call: earlier rounds have run, and that is said. */
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { createServer } from 'pannier/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { testIsOver } from '../fixtures/until.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { newDatabase } from '../postgres/database.ts'
import { TcpProxy } from '../postgres/tcpProxy.ts'
import { principal } from './fixtures/bothEras.ts'
import {
  type AnyClient,
  call,
  type ClientKind,
  CLIENTS,
  connectClient,
  sessionServer,
  startGateway,
} from './fixtures/gateways.ts'

const PATIENCE = { timeout: 40_000 }
const EARLIER =
  'Earlier rounds or attempts of this call have run and may have had effects; look before you repeat it from its start.'

/** A server of the stateless era whose tool books before it asks. */
async function bookings() {
  const effects: string[] = []
  const server = createServer({ name: 'desk', version: '1', keys: KEYS, logger: quiet })
  server.tool('book', { description: 'Books.' }, async (_, ctx) => {
    await ctx.step('book', () => void effects.push('booked'))
    await ctx.ask('sure', { message: 'Sure?', schema: z.object({}) })
    return 'kept'
  })
  const { url } = await server.listen({ drainOnTerm: false })
  const end = (): Promise<unknown> => server.drain({ deadlineMs: 0 })
  onTestFinished(async () => void (await end()))
  return { url, effects, end }
}

/** A client that does something else before it answers. */
async function connectAnswering(kind: ClientKind, url: string, before: () => Promise<unknown>): Promise<AnyClient> {
  const me = { name: kind, version: '1' }
  const capabilities = { elicitation: {} }
  const answer = async () => {
    await before()
    return { action: 'accept' as const, content: {} }
  }
  const requestInit = { headers: { 'x-user': 'ann' } }
  if (kind === 'v1') {
    const client = new ClientV1(me, { capabilities })
    client.setRequestHandler(ElicitRequestSchema, answer)
    await client.connect(new HttpV1(new URL(url), { requestInit }))
    onTestFinished(() => client.close())
    return client as unknown as AnyClient
  }
  const mode = kind === 'v2' ? 'auto' : 'legacy'
  const client = new ClientV2(me, { capabilities, versionNegotiation: { mode } })
  client.setRequestHandler('elicitation/create', answer)
  await client.connect(new HttpV2(new URL(url), { requestInit }))
  onTestFinished(() => client.close())
  return client as unknown as AnyClient
}

interface Failure {
  readonly message: string
  readonly data: { readonly code: string }
}

const failureOf = (calling: Promise<string>): Promise<Failure> =>
  calling.then(
    (text) => ({ message: text, data: { code: 'none' } }),
    (error: unknown) => error as Failure,
  )

test.each([...CLIENTS.map((kind) => [kind, '', 'desk_book'] as const), ['v2', '/desk', 'book'] as const])(
  'the client %s at /mcp%s whose server is gone in a later round is told of the effects before',
  async (kind, path, tool) => {
    const { url: behind, effects, end } = await bookings()
    const { url } = await startGateway({ desk: { url: behind, pannier: { state: 'stateless' } } })
    const client = await connectAnswering(kind, url + path, end)
    const { message, data } = await failureOf(call(client, tool))
    expect(data.code).toBe('BACKEND_DOWN')
    expect(message).toContain(EARLIER)
    expect(effects).toEqual(['booked'])
    const { message: first } = await failureOf(call(client, tool))
    expect(first).not.toContain('Earlier rounds')
  },
)

test.each(CLIENTS)(
  'the client %s whose caller is not found in a later round is not told that the call was not begun',
  async (kind) => {
    const { url: behind, effects } = await bookings()
    const database = new URL(await newDatabase())
    const proxy = await TcpProxy.start(Number(database.port))
    onTestFinished(() => proxy.close())
    database.port = String(proxy.port)
    const top = { gateway: { postgres: database.href, leaseSeconds: 4 } }
    const { url } = await startGateway({ desk: { url: behind, pannier: { state: 'stateful' } } }, { principal }, top)
    const other = await connectClient('v1', url, { 'x-user': 'ann' })
    const client = await connectAnswering(kind, url, async () => {
      proxy.cut()
      const unplaced = async () => expect((await failureOf(call(other, 'desk_book'))).data.code).toBe('CALLER_UNPLACED')
      await vi.waitFor(unplaced, PATIENCE)
      effects.splice(0)
    })
    const { message, data } = await failureOf(call(client, 'desk_book', {}, PATIENCE))
    expect(data.code).toBe('CALLER_UNPLACED')
    expect(message).toContain(EARLIER)
    expect(message).not.toContain('not begun')
    expect((await failureOf(call(other, 'desk_book'))).message).toContain('The call was not begun.')
    expect(effects).toEqual([])
  },
)

test('a caller is told of the attempt before when a server ends in a call that may run twice, and stays away', async () => {
  let began = 0
  const end = Promise.withResolvers<() => unknown>()
  const vanishing = (): McpServer => {
    const server = new McpServer({ name: 'vanishing', version: '1' })
    server.registerTool('set', { annotations: { idempotentHint: true } }, async () => {
      began++
      ;(await end.promise)()
      return new Promise(() => {})
    })
    return server
  }
  const { url: behind } = await sessionServer((close) => {
    end.resolve(close)
    testIsOver(close)
  }, vanishing)
  const { url } = await startGateway({ desk: { url: behind, pannier: { state: 'stateful' } } })
  const client = await connectClient('v2', url)
  expect((await failureOf(call(client, 'desk_set', {}, PATIENCE))).message).toContain(EARLIER)
  expect(began).toBe(1)
})
