/** State travels in `_meta`, in two dictionaries, with messages that there are anyway. The other ways stay out. */
import { Client, type FetchLike, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { jar } from 'pannier/client'
import { memoryJar } from 'pannier/state'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { type Instance, startHere } from '../../interop/fixtures/instances.ts'
import { post, RawSession } from '../../interop/fixtures/rawSession.ts'
import { proves } from '../../proves.ts'
import type { Loose } from '../fixtures/fakeTransport.ts'

const STATE = 'modelcontextprotocol.io/state'
const META = 'io.modelcontextprotocol'
const KEPT = 'kept-for-the-server'
const capabilities = { state: {}, extensions: { 'dev.pannier/client-state': {} } }

let instance: Instance

beforeAll(async () => {
  instance = await startHere()
})
afterAll(() => instance.close())

interface Sent {
  readonly message: Loose
  readonly headers: readonly (readonly [string, string])[]
}

/** Everything a client with a jar sends while a server sets state and reads it again. */
async function sentBy(mode: 'legacy' | 'auto'): Promise<readonly Sent[]> {
  const sent: Sent[] = []
  const recording: FetchLike = (url, init) => {
    if (typeof init?.body === 'string') {
      sent.push({ message: JSON.parse(init.body), headers: [...new Headers(init.headers)] })
    }
    return fetch(url, init)
  }
  const client = new Client({ name: 'keeping', version: '1' }, { versionNegotiation: { mode } })
  const layer = jar(memoryJar(), { server: 'a.example.com', principal: 'ann', context: 'chat' })
  await client.connect(layer(new StreamableHTTPClientTransport(new URL(instance.url), { fetch: recording })))
  for (const scope of ['session', 'server']) {
    await client.callTool({ name: 'remember', arguments: { scope, name: 'colour', value: KEPT } })
  }
  const recalled = await client.callTool({ name: 'recall', arguments: { scope: 'server', name: 'colour' } })
  expect(recalled.content).toMatchObject([{ text: JSON.stringify(KEPT) }])
  await client.close()
  return sent
}

describe.each([
  ['2026-07-28', 'auto', ['server/discover']],
  ['2025-11-25', 'legacy', ['initialize', 'notifications/initialized']],
] as const)('at %s', (version, mode, opening) => {
  let sent: readonly Sent[]

  beforeAll(async () => {
    sent = await sentBy(mode)
  })

  proves('CS-20', 'a client that keeps state sends no message for it, only the calls that were made', () => {
    const calls = ['tools/call', 'tools/call', 'tools/call']
    expect(sent.map(({ message }) => message.method)).toEqual([...opening, ...calls])
  })

  proves('CS-20', 'a server knows no message that gets or sets state', async () => {
    for (const method of ['state/get', 'state/set', 'state/list', 'state/delete', 'state/clear']) {
      expect(await answerTo(method, version)).toMatchObject({ error: { code: -32601 } })
    }
  })

  proves('CS-21', 'no header carries state, and the two scopes have a key each', () => {
    const { message, headers } = sent.at(-1)!
    const meta = message.params._meta as Record<string, unknown>
    const carried = Object.keys(meta).filter((key) => JSON.stringify(meta[key]).includes(KEPT))
    expect(carried).toEqual([`${STATE}/session`, `${STATE}/server`])
    expect(meta[`${STATE}/session`]).toEqual({ colour: KEPT })
    expect(headers.length).toBeGreaterThan(0)
    expect(headers.filter(([name, value]) => /state|cookie/i.test(name) || value.includes(KEPT))).toEqual([])
  })
})

async function answerTo(method: string, version: string): Promise<unknown> {
  if (version !== '2026-07-28') return (await RawSession.begin(instance.url, { capabilities })).request(method)
  const _meta = { [`${META}/protocolVersion`]: version, [`${META}/clientCapabilities`]: capabilities }
  const headers = { 'mcp-protocol-version': version, 'mcp-method': method }
  return (await post(instance.url, headers, { jsonrpc: '2.0', id: 1, method, params: { _meta } })).json()
}
