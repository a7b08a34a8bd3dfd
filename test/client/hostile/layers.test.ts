/** The layers against a server that tries to break them, under both official clients, over HTTP and stdio. */
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { fileURLToPath } from 'node:url'
import { type JarNews, memoryJar } from 'pannier/state'
import { compose, echo, echoFetch, jar, type Refused, rounds, scope, scopeFetch } from 'pannier/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandOf } from '../../interop/fixtures/instances.ts'
import { proves } from '../../proves.ts'
import type { Loose } from '../fixtures/fakeTransport.ts'
import { SERVER_STATE } from '../fixtures/servers/hostile.ts'
import { type HostileHost, startHostile } from '../fixtures/servers/hostileHttp.ts'
import { accept, type AnyClient, callTool, text } from '../fixtures/clients.ts'

const me = { name: 'layers-test', version: '1' }
const v1 = () => new ClientV1(me)
const v2 = (mode: 'legacy' | 'auto') => () => new ClientV2(me, { versionNegotiation: { mode } })
const program = {
  ...commandOf(fileURLToPath(new URL('../programs/hostileServer.ts', import.meta.url))),
  maxBufferSize: 64 * 1024 * 1024,
}
const refused: Refused[] = []
const onRefused = (each: Refused) => void refused.push(each)
const sessionFetch = () => scopeFetch(echoFetch(), { onRefused })

let host: HostileHost

beforeAll(async () => {
  host = await startHostile()
})
afterAll(() => host.close())

describe.each([
  ['v1, HTTP, session', 'legacy', v1, () => new HttpV1(host.url, { fetch: sessionFetch() })],
  ['v1, stdio, session', 'legacy', v1, () => new StdioV1(program)],
  ['v2, HTTP, session', 'legacy', v2('legacy'), () => new HttpV2(host.url, { fetch: sessionFetch() })],
  ['v2, HTTP, negotiated', 'modern', v2('auto'), () => new HttpV2(host.url)],
  ['v2, stdio, session', 'legacy', v2('legacy'), () => new StdioV2(program)],
  ['v2, stdio, negotiated', 'modern', v2('auto'), () => new StdioV2(program)],
] as const)('%s', (name, era, makeClient, makeTransport) => {
  const news: JarNews[] = []
  const store = memoryJar()
  let client: AnyClient
  const call = (tool: string) => callTool(client, tool)
  const report = async () => JSON.parse((await call('report')).content[0].text)
  const kept = async () => JSON.parse((await call('kept')).content[0].text)

  const layersFor = (server: string) =>
    compose(
      rounds({ answerers: { form: () => accept({ name: 'Ann' }) }, maxRounds: 5, maxStateBytes: 16_000_000 }),
      scope({ onRefused }),
      jar(store, { server, principal: 'ann', context: 'c', onNews: (each) => void news.push(...each) }),
      echo(),
    )

  beforeAll(async () => {
    refused.length = 0
    const connecting = makeClient()
    await connecting.connect(layersFor('hostile.example')(makeTransport()))
    client = connecting as unknown as AnyClient
  })
  afterAll(() => client.close())

  proves(
    'MRTR-11 MRTR-25 MRTR-26 MRTR-27',
    'questions and states that change from round to round are each answered as they came',
    async () => {
      expect(await call('changed_keys')).toMatchObject(text('ok'))
      expect(await call('state_then_none')).toMatchObject(text('ok'))
    },
  )

  test('answers under other ids settle nothing', async () => {
    expect(await call('other_ids')).toMatchObject(text('ok'))
  })

  proves('MRTR-25', '10 MB of state come back as they were, where so much is allowed', async () => {
    expect(await call('large_state')).toMatchObject(text('ok'))
  })

  test('a question that was not declared, a kind of result nobody knows and endless rounds are errors', async () => {
    const codeOf = async (tool: string) => {
      const error: Loose = await call(tool).catch((cause: unknown) => cause)
      return error.data?.code ?? error.code
    }
    const undeclared = await codeOf('undeclared')
    // The v2 client of the stateless revision is given what no answerer has, and refuses it itself.
    expect(undeclared).toBe(name.startsWith('v2') && era === 'modern' ? 'CAPABILITY_NOT_SUPPORTED' : 'INPUT_UNDECLARED')
    expect(await codeOf('unknown_kind')).toBe('RESULT_UNKNOWN')
    expect(await codeOf('endless')).toBe('ROUNDS_ENDLESS')
    expect(await codeOf('endless_states')).toBe('ROUNDS_ENDLESS')
  })

  test('too much to keep, and what is no dictionary, is refused and told; the rest is kept; no call breaks', async () => {
    expect(await call('keep_large')).toMatchObject(text('ok'))
    expect(news.map(({ kind, scope: where, name: what }) => `${kind} ${where} ${what}`).toSorted()).toEqual([
      'refused server large',
      'refused session ',
    ])
    expect((await kept())[SERVER_STATE]).toMatchObject({ small: 'kept' })
  })

  test('what it would have us keep for others reaches no other server', async () => {
    await call('keep_for_others')
    const other = makeClient()
    await other.connect(layersFor('a.example')(makeTransport()))
    const sent = await callTool(other as unknown as AnyClient, 'kept')
    expect(JSON.stringify(sent)).not.toContain('stolen')
    await other.close()
  })

  test('a list that sets state is fetched each time, and its state goes along', async () => {
    const before = (await report()).lists
    await client.listTools()
    await client.listTools()
    expect((await report()).lists).toBe(before + 2)
    expect((await kept())[SERVER_STATE]).toMatchObject({ lists: before + 2 })
  })

  if (era === 'legacy') {
    proves(
      'RA-13',
      'what it asks while nothing is under way, or on the stream of no request, is refused with -32602',
      async () => {
        await call('ask_later')
        const methods = ['elicitation/create', 'sampling/createMessage', 'roots/list']
        await expect.poll(() => refused.map(({ method }) => method)).toEqual(expect.arrayContaining(methods))
        await expect.poll(async () => (await report()).refusals.slice(0, 3)).toEqual([-32602, -32602, -32602])
      },
    )

    proves(
      'ST-4 ST-5 ST-6',
      'states of any kind and size come back as they were, and none where none came',
      async () => {
        expect(await call('push_state')).toMatchObject(text('ok'))
      },
    )
  }
})
