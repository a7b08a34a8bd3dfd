/** What clients do that is not quite the specification, and is served or told clearly. */
import { createServer, ProtocolError } from 'pannier/server'
import { newKey } from 'pannier/state'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { call, post, VERSION } from '../fixtures/modernClient.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const server = createServer({ name: 'old-habits', version: '1', keys: newKey(), logger })
const alone = createServer({ name: 'stateless-only', version: '1', keys: newKey(), logger, legacy: false })
const verbatim = { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' } as const
let url: string
let aloneUrl: string

beforeAll(async () => {
  const schema = z.object({ text: z.string() })
  server.tool('echo', { description: 'Echoes', input: schema, output: schema }, ({ text }) => ({
    content: [],
    structuredContent: { text },
  }))
  server.tool('plain', { description: 'Has a schema of its own.', input: verbatim }, () => 'plain')
  url = (await server.listen({ drainOnTerm: false })).url
  aloneUrl = (await alone.listen({ drainOnTerm: false })).url
})
afterAll(() => Promise.all([server.drain(), alone.drain()]))

test.each(['GET', 'DELETE'])('HTTP %s with the stateless version is refused with 405', async (method) => {
  const headers = { 'mcp-protocol-version': VERSION, accept: 'text/event-stream' }
  const response = await fetch(url, { method, headers })
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
})

test('an empty cursor means the first page', async () => {
  const { message } = await post(url, { method: 'tools/list', params: { cursor: '' } })
  expect(message.result.tools).toHaveLength(2)
})

test('the path of the endpoint may end with a slash', async () => {
  expect((await call(`${url}/`, 'plain')).message.result).toMatchObject({ content: [{ text: 'plain' }] })
  expect((await fetch(`${url}//`, { method: 'POST' })).status).toBe(404)
})

test('a request with neither version header nor envelope lacks a header at a server without sessions', async () => {
  // 2026-07-28, Server Validation: -32020 where "a required standard header (MCP-Protocol-Version, …) is missing".
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/list', params: {} })
  const response = await fetch(aloneUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  expect([response.status, await response.json()]).toMatchObject([400, { id: 7, error: { code: -32020 } }])
  const named = { 'content-type': 'application/json', 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/list' }
  const bare = await fetch(aloneUrl, { method: 'POST', headers: named, body })
  expect([bare.status, await bare.json()]).toMatchObject([400, { error: { code: -32602 } }])
})

test('discovery names the versions that a request with an envelope may have, and no others', async () => {
  // 2026-07-28, Discovery: "The client should choose one of these for subsequent requests."
  const { message } = await post(url, { method: 'server/discover', params: {} })
  expect(message.result.supportedVersions).toEqual([VERSION])
})

describe('an unknown version in the header', () => {
  const unknown = { 'mcp-protocol-version': '1999-01-01', accept: 'application/json, text/event-stream' }
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  const sent = { method: 'POST', headers: { ...unknown, 'content-type': 'application/json' }, body: ping }

  test.each([
    ['a request', sent],
    ['a GET', { method: 'GET', headers: unknown }],
  ])('of %s is told which ones there are', async (_, init) => {
    const response = await fetch(url, init)
    expect([response.status, await response.json()]).toMatchObject([
      400,
      {
        error: { code: -32022, data: { supported: [VERSION, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] } },
      },
    ])
  })

  test('names only the stateless one where that is all', async () => {
    const data = { supported: [VERSION], requested: '1999-01-01' }
    expect(await (await fetch(aloneUrl, sent)).json()).toMatchObject({ error: { code: -32022, data } })
  })
})

test('schemas that a library writes do not name the default dialect, and those that are given stay as they are', async () => {
  const { message } = await post(url, { method: 'tools/list' })
  const [echo, plain] = message.result.tools
  expect(echo.inputSchema).not.toHaveProperty('$schema')
  expect(echo.outputSchema).not.toHaveProperty('$schema')
  expect(plain.inputSchema).toEqual(verbatim)
})

test.each(['NOPE', -32602, undefined])('a ProtocolError with the code %s says which codes there are', (code) => {
  expect(() => new ProtocolError(code as never, 'No.')).toThrow(/^ProtocolError has no code .*PARAMS_INVALID/)
})
