/** What our own server declares about its sessions: that it is true, and that every official client takes it. */
import { fileURLToPath } from 'node:url'
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { connect } from 'pannier/client'
import { probe, type Verdict } from 'pannier/probe'
import { createServer, localBus, type ServerOptions } from 'pannier/server'
import { ephemeralKeyring, newKey } from 'pannier/state'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serverWith } from '../../docs/snippets/probe.ts'
import { readText } from '../../scripts/repository.ts'
import { quickStart } from '../bundle/environment.ts'
import { KEYS, quiet, startHere } from '../interop/fixtures/instances.ts'
import { proves } from '../proves.ts'

process.env['PANNIER_LOG_LEVEL'] = 'silent'
const own = fileURLToPath(new URL('programs/pannierServer.ts', import.meta.url))

async function start(options: Partial<ServerOptions> = {}): Promise<string> {
  const instance = await startHere(options)
  onTestFinished(() => instance.close())
  return instance.url
}

async function startWith(...flags: string[]): Promise<string> {
  const server = serverWith(flags)
  const { url } = await server.listen()
  onTestFinished(() => server.drain({ deadlineMs: 0 }))
  return url
}

const program = (...flags: string[]) => ({
  command: process.execPath,
  args: ['--conditions=pannier-source', own, ...flags],
  env: { PANNIER_LOG_LEVEL: 'silent', PANNIER_KEYS: KEYS, ...quickStart },
})

const holds = ({ evidence }: Verdict) => evidence.find(({ check }) => check === 'declared')?.details?.['holds']

proves('DT-25 DT-27', 'a server declares its architecture, its transports and its sessions in both eras', async () => {
  const url = await start()
  const send = async (body: object, headers: Record<string, string> = {}) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
    })
    return (await response.json()).result
  }
  const clientInfo = { name: 'x', version: '1' }
  const older = await send({
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
  })
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const version = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' }
  const newer = await send({ method: 'server/discover', params: { _meta: envelope } }, version)
  const declared = { name: 'interop', version: '1.0.0', architecture: 'stateless', transport: ['http'] }
  expect(older.serverInfo).toEqual(declared)
  expect(newer._meta['io.modelcontextprotocol/serverInfo']).toEqual(declared)
  for (const { capabilities } of [older, newer])
    expect(capabilities.session).toEqual({ persistent: false, poolable: true })
})

describe('the probe finds true what is declared by', () => {
  proves('DT-26 DT-27', 'a stateless server and a stateful one, each as its flag says', async () => {
    const [stateless, stateful, both, unsaid] = await Promise.all(
      [['--stateless'], ['--stateful'], ['--stateful', '--stateless'], []].map(async (flags) =>
        probe(await startWith(...flags)),
      ),
    )
    for (const verdict of [stateless, both, unsaid]) {
      expect(verdict).toMatchObject({ state: 'STATELESS', decidedBy: 'era', declared: { architecture: 'stateless' } })
    }
    expect(stateful).toMatchObject({ state: 'STATEFUL', decidedBy: 'sequential', era: 'legacy' })
    expect(stateful?.declared).toEqual({
      architecture: 'stateful',
      transport: ['http'],
      session: { persistent: true, poolable: false },
    })
    for (const verdict of [stateless, stateful, both, unsaid]) expect(verdict && holds(verdict)).toBe(true)
  })

  test('the same as programs', async () => {
    const [stateless, stateful] = await Promise.all(
      ['--stateless', '--stateful'].map((flag) => probe(program(flag), { timeoutMs: 60_000 })),
    )
    expect(stateless).toMatchObject({ state: 'STATELESS', decidedBy: 'era', declared: { transport: ['stdio'] } })
    expect(stateful).toMatchObject({ state: 'STATEFUL', decidedBy: 'sequential', declared: { transport: ['stdio'] } })
    for (const verdict of [stateless, stateful]) expect(verdict && holds(verdict)).toBe(true)
  })

  test('one without sessions for older clients', async () => {
    const verdict = await probe(await start({ legacy: false }))
    expect(verdict).toMatchObject({ state: 'STATELESS', decidedBy: 'era', versions: ['2026-07-28'] })
    expect(holds(verdict)).toBe(true)
  })

  test('one for older clients, where nobody asks for the newer era', async () => {
    expect(await probe(await start(), { methods: ['sequential'] })).toMatchObject({
      state: 'STATELESS',
      details: { toolCount: expect.any(Number) },
    })
  })
})

test('a server alone with its keys says that its calls cannot be spread', async () => {
  const server = createServer({ name: 'alone', version: '1', logger: quiet, keys: ephemeralKeyring() }).tool(
    'x',
    { description: 'X.' },
    () => 'x',
  )
  const { url } = await server.listen()
  onTestFinished(() => server.drain({ deadlineMs: 0 }))
  expect((await probe(url)).declared?.session).toEqual({ persistent: false, poolable: false })
})

test('a mounted server says to session-era clients whether another instance could bring it their answers', async () => {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  const declaredBy = async (options: Partial<ServerOptions>): Promise<unknown> => {
    const server = createServer({ name: 'mounted', version: '1', keys: newKey(), logger: quiet, ...options })
    const headers = { 'content-type': 'application/json' }
    const response = await server.fetch(new Request('http://localhost/mcp', { method: 'POST', headers, body }))
    return ((await response.json()) as { result: { capabilities: { session: { poolable: unknown } } } }).result
      .capabilities.session.poolable
  }
  expect(await declaredBy({})).toBe(false)
  expect(await declaredBy({ advertise: 'http://10.0.0.7:3000/mcp' })).toBe(true)
  expect(await declaredBy({ bus: localBus() })).toBe(true)
})

describe('a server that declares itself', () => {
  test.each(['stateless', 'stateful'] as const)('%s is taken by clients of both makers', async (architecture) => {
    const url = await startWith(`--${architecture}`)
    const v2 = await connect(url)
    const v1 = new V1Client({ name: 'v1', version: '1' })
    const transport: unknown = new StreamableHTTPClientTransport(new URL(url))
    await v1.connect(transport as Transport)
    onTestFinished(async () => void (await Promise.all([v1.close(), v2.close()])))
    const texts = [await v2.callTool({ name: 'count' }), await v1.callTool({ name: 'count' })].map(
      ({ content }) => content,
    )
    const expected =
      architecture === 'stateful'
        ? ['Counted 1.', 'Counted 2.']
        : ['A stateless server does not count.', 'A stateless server does not count.']
    expect(texts).toEqual(expected.map((text) => [{ type: 'text', text }]))
    expect([v1.getServerVersion()?.name, v2.getServerVersion()?.name]).toEqual(['counter', 'counter'])
  })

  test('stateful cannot be asked to serve the newer era alone', () => {
    const options = { name: 'x', version: '1', keys: newKey(), architecture: 'stateful', legacy: false } as const
    expect(() => createServer(options)).toThrow(
      'A stateful server serves the session era, so it cannot have legacy: false.',
    )
  })
})

proves('DT-24', 'the guide documents the architecture of a server, as it declares it', async () => {
  const section = readText('docs/how-to/declare-architecture.md')
  const { declared } = await probe(await start())
  expect(section).toContain(`| Type | ${declared?.architecture}`)
  expect(section).toContain('| Works behind a gateway | yes')
  expect(section).toContain('| Deployment | ')
})
