/** The layers between the official clients and a server of the official SDK, over HTTP and in memory, in both eras. */
import {
  Client as ClientV2,
  InMemoryTransport as InMemoryV2,
  StreamableHTTPClientTransport as HttpV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { InMemoryTransport as InMemoryV1 } from '@modelcontextprotocol/sdk/inMemory.js'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { memoryJar } from 'pannier/state'
import { type Asked, compose, echo, echoFetch, jar, rounds, scope, scopeFetch } from 'pannier/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type SdkHost, startSdkHost } from '../../sdk/fixtures/host.ts'
import type { Loose } from '../fixtures/fakeTransport.ts'
import { makeSdkServer } from '../fixtures/servers/roundsSdkV2.ts'
import { accept, type AnyClient, callTool, text } from '../fixtures/clients.ts'

let host: SdkHost

beforeAll(async () => {
  host = await startSdkHost(makeSdkServer)
})
afterAll(() => host.close())

const me = { name: 'layers-test', version: '1' }
const v1 = () => new ClientV1(me)
const v2 = (mode: 'legacy' | 'auto' | { pin: string }) => new ClientV2(me, { versionNegotiation: { mode } })

/** A server of the SDK at the other end of memory; each SDK has its own transport for it. */
function inMemory(InMemory: typeof InMemoryV1 | typeof InMemoryV2, legacy: 'serve' | 'reject' = 'serve') {
  const [client, server] = InMemory.createLinkedPair()
  serveStdio(makeSdkServer, { transport: server, legacy })
  return client
}

// "Hello" shows that the state made its way: the SDK's server keeps nothing between rounds in the modern era.
const DONE = 'Hello, first "Ann" second "Bob"'

describe.each([
  ['v1, HTTP, session', 'legacy', v1, () => new HttpV1(host.legacy, { fetch: scopeFetch(echoFetch()) })],
  ['v1, memory, session', 'legacy', v1, () => inMemory(InMemoryV1)],
  [
    'v2, HTTP, session',
    'legacy',
    () => v2('legacy'),
    () => new HttpV2(host.legacy, { fetch: scopeFetch(echoFetch()) }),
  ],
  ['v2, HTTP, negotiated to a session', 'legacy', () => v2('auto'), () => new HttpV2(host.legacy)],
  ['v2, HTTP, negotiated', 'modern', () => v2('auto'), () => new HttpV2(host.modern)],
  ['v2, HTTP, pinned', 'modern', () => v2({ pin: '2026-07-28' }), () => new HttpV2(host.modern)],
  ['v2, memory, session', 'legacy', () => v2('legacy'), () => inMemory(InMemoryV2)],
  ['v2, memory, negotiated', 'modern', () => v2('auto'), () => inMemory(InMemoryV2)],
  ['v2, memory of v1, negotiated', 'modern', () => v2('auto'), () => inMemory(InMemoryV1)],
] as const)('%s', (_, era, makeClient, makeTransport) => {
  const asked: Asked[] = []
  const faults: Error[] = []
  let client: AnyClient

  beforeAll(async () => {
    const form = (question: Asked) => {
      asked.push(question)
      return accept({ name: asked.length === 1 ? 'Ann' : 'Bob' })
    }
    const layer = compose(
      rounds({ answerers: { form } }),
      scope(),
      jar(memoryJar(), { server: 'sdk.example', principal: 'ann', context: 'c' }),
      echo(),
    )
    const connecting = makeClient()
    connecting.onerror = (error: Error) => void faults.push(error)
    await connecting.connect(layer(makeTransport()))
    client = connecting as unknown as AnyClient
  })
  afterAll(async () => {
    delete client.onerror
    await client.close()
  })

  test('the SDK negotiated the era that was meant, through all layers', () => {
    if (client.getProtocolEra !== undefined) expect(client.getProtocolEra()).toBe(era)
    expect(client.getServerVersion()).toMatchObject({ name: 'sdk', version: '2' })
  })

  test('a tool that asks nothing, and one that asks in three rounds', async () => {
    expect(await callTool(client, 'plain')).toMatchObject(text('plain'))
    expect(await callTool(client, 'greet')).toMatchObject(text(DONE))
    expect(asked.map(({ request }) => (request.params as Loose).message)).toEqual(['Who is there?', 'And who else?'])
  })

  test('nothing went wrong on the way', () => expect(faults).toEqual([]))
})

test('a v2 client that has handlers of its own answers what no answerer has, in rounds with one that has', async () => {
  const client = new ClientV2(me, { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'auto' } })
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Own' } }))
  await client.connect(rounds({ answerers: { roots: () => ({ roots: [] }) } })(new HttpV2(host.modern)))
  expect(await client.callTool({ name: 'greet', arguments: {} })).toMatchObject(text('Hello, first "Own" second "Own"'))
  await client.close()
})
