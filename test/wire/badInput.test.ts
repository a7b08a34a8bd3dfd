import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { createServer, type Listening, type Server } from 'pannier/server'
import { newKey } from 'pannier/state'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { call, envelope, post, raw, VERSION } from '../fixtures/modernClient.ts'

let server: Server
let at: Listening

beforeAll(async () => {
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  server = createServer({ name: 'bad-input', version: '1.0.0', keys: newKey(), logger })
  server.tool('echo', { description: 'Echoes', input: z.object({ text: z.string() }) }, async ({ text }) => text)
  server.tool(
    'region',
    { description: 'Mirrors', input: z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }).optional() }) },
    ({ region }) => String(region),
  )
  server.tool('throws', { description: 'Fails' }, () => {
    throw new Error('the database is away')
  })
  server.resource('test://a', { name: 'a' }, () => 'a')
  at = await server.listen({ maxBodyBytes: 100_000, requestTimeoutMs: 1000 })
})

afterAll(() => server.drain())

// Whatever a test sent, the process must live on and answer the next request.
afterEach(async () => {
  const { message } = await call(at.url, 'echo', { text: 'still here' })
  expect(message.result.content[0].text).toBe('still here')
})

const incompressible = () => randomBytes(40_000).toString('hex')

const headers = {
  'content-type': 'application/json',
  'mcp-protocol-version': VERSION,
  'mcp-method': 'tools/call',
  'mcp-name': 'echo',
}
const echo = { name: 'echo', arguments: { text: 'x' } }
const message = (over: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { ...echo, _meta: envelope() },
  ...over,
})

test.each([
  ['capabilities', { capabilities: { experimental: { x: { y: incompressible() } } } }],
  ['clientInfo', { capabilities: {}, clientInfo: { name: incompressible(), version: '1' } }],
])('an initialize whose %s are too large for a session id is refused, with a sentence', async (_, params) => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', ...params },
  }
  const response = await fetch(at.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(initialize),
  })
  const { error } = (await response.json()) as { error: { code: number; message: string } }
  expect([response.headers.get('mcp-session-id'), error.code]).toEqual([null, -32602])
  expect(error.message).toContain('too large')
})

describe('a body', () => {
  test.each([
    ['nothing', '', 400, -32700],
    ['half a message', '{"jsonrpc":"2.0"', 400, -32700],
    ['not JSON', 'hello', 400, -32700],
    ['invalid UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400, -32700],
    ['a batch', JSON.stringify([message()]), 400, -32600],
    ['a number', '3', 400, -32600],
    ['null', 'null', 400, -32600],
    ['a key twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call"}', 400, -32700],
    ['nesting without end', '['.repeat(40_000) + ']'.repeat(40_000), 400, -32700],
    ['a null id', JSON.stringify(message({ id: null })), 400, -32600],
    ['a list as parameters', JSON.stringify(message({ params: [] })), 400, -32600],
    ['no envelope', JSON.stringify(message({ params: echo })), 400, -32602],
    ['an envelope that is a list', JSON.stringify(message({ params: { ...echo, _meta: [] } })), 400, -32602],
    [
      'no capabilities',
      JSON.stringify(
        message({
          params: { ...echo, _meta: { ...envelope(), 'io.modelcontextprotocol/clientCapabilities': undefined } },
        }),
      ),
      400,
      -32602,
    ],
    [
      'a client without a name',
      JSON.stringify(
        message({ params: { ...echo, _meta: envelope({}, { 'io.modelcontextprotocol/clientInfo': {} }) } }),
      ),
      400,
      -32602,
    ],
    [
      'an unknown log level',
      JSON.stringify(
        message({ params: { ...echo, _meta: envelope({}, { 'io.modelcontextprotocol/logLevel': 'loud' }) } }),
      ),
      400,
      -32602,
    ],
    ['a response', JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} }), 400, -32600],
  ])('of %s is answered with a clear error', async (_, body, status, code) => {
    const answer = await post(at.url, { body, headers })
    expect([answer.status, answer.message.error.code]).toEqual([status, code])
    expect(answer.message.error.message).toMatch(/^[A-Z"].*\.$/)
  })

  test('that is too large is refused with 413 and the limit', async () => {
    const answer = await call(at.url, 'echo', { text: 'x'.repeat(200_000) })
    expect(answer.status).toBe(413)
    expect(answer.message.error.message).toContain('100000 bytes')
  })

  test.each(['text/plain', 'application/jsonp', 'multipart/form-data', undefined])(
    'of type %s is refused with 415',
    async (type) => {
      const { status } = await raw(
        at.url,
        {
          ...headers,
          ...(type === undefined ? {} : { 'content-type': type }),
          ...(type === undefined && { 'content-type': '' }),
        },
        JSON.stringify(message()),
      )
      expect(status).toBe(415)
    },
  )

  test.each(['application/json; charset=utf-8', 'APPLICATION/JSON'])('of type %s is taken', async (type) => {
    expect((await call(at.url, 'echo', { text: 'x' }, { headers: { 'content-type': type } })).status).toBe(200)
  })
})

describe('parameters', () => {
  test.each([
    ['a tool that is not there', { name: 'nope' }],
    ['no name', { arguments: {} }],
    ['a number as name', { name: 3 }],
    ['a list as arguments', { name: 'echo', arguments: [] }],
    ['a text as arguments', { name: 'echo', arguments: 'x' }],
    ['the name __proto__', { name: '__proto__' }],
    ['the name constructor', { name: 'constructor' }],
    ['the name toString', { name: 'toString' }],
  ])('with %s are refused with -32602', async (_, params) => {
    const { message } = await post(at.url, {
      params,
      headers: { 'mcp-name': String(('name' in params && params.name) || 'x') },
    })
    expect(message.error.code).toBe(-32602)
  })

  test('that do not fit come back to the model as words it can use', async () => {
    const { message } = await call(at.url, 'echo', { text: 3 })
    expect(message.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('text') }] })
  })

  test('named __proto__ pollute nothing', async () => {
    await post(at.url, {
      body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"__proto__":{"polluted":true},"text":"x"},"_meta":${JSON.stringify(envelope())}}}`,
      headers,
    })
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  test('an unknown resource names the address in the error data', async () => {
    const { message } = await post(at.url, { method: 'resources/read', params: { uri: 'test://nope' } })
    expect(message.error).toMatchObject({ code: -32602, data: { uri: 'test://nope' } })
  })

  test('an invented cursor is refused', async () => {
    for (const cursor of ['x', 'tools-0', 'tools-99', 'resources-1', 3, null, 'tools-1e9']) {
      expect((await post(at.url, { method: 'tools/list', params: { cursor } })).message.error.code).toBe(-32602)
    }
  })
})

describe('headers', () => {
  test.each([
    ['no version', { 'mcp-protocol-version': undefined }],
    ['another version', { 'mcp-protocol-version': '2025-11-25' }],
    ['no method', { 'mcp-method': undefined }],
    ['another method', { 'mcp-method': 'tools/list' }],
    ['no name', { 'mcp-name': undefined }],
    ['another name', { 'mcp-name': 'other' }],
    ['a broken base64 name', { 'mcp-name': '=?base64?ZWNobw?=' }],
  ])('with %s are refused with 400 and -32020', async (_, bent) => {
    const answer = await call(at.url, 'echo', { text: 'x' }, { headers: bent })
    expect([answer.status, answer.message.error.code]).toEqual([400, -32020])
  })

  test.each([
    ['missing', { region: 'eu' }, {}],
    ['lying', { region: 'eu' }, { 'mcp-param-region': 'us' }],
    ['for nothing', {}, { 'mcp-param-region': 'eu' }],
    ['in broken base64', { region: 'eu' }, { 'mcp-param-region': '=?base64?ZXU?=' }],
  ])('of a mirrored parameter, %s, are refused with 400 and -32020', async (_, args, bent) => {
    const answer = await call(at.url, 'region', args, { headers: bent })
    expect([answer.status, answer.message.error.code]).toEqual([400, -32020])
  })

  test('an unknown version is refused with the ones there are', async () => {
    const meta = { 'io.modelcontextprotocol/protocolVersion': 'v999' }
    const answer = await call(at.url, 'echo', { text: 'x' }, { meta, headers: { 'mcp-protocol-version': 'v999' } })
    expect(answer.message.error).toMatchObject({ code: -32022, data: { supported: [VERSION], requested: 'v999' } })
    expect(answer.status).toBe(400)
  })

  test('a name sent twice is refused', async () => {
    const { status } = await raw(at.url, { ...headers, 'mcp-name': ['echo', 'echo'] }, JSON.stringify(message()))
    expect(status).toBe(400)
  })
})

describe('methods', () => {
  test.each([
    'nope',
    'initialize',
    'ping',
    'logging/setLevel',
    'tasks/list',
    'prompts/list',
    '__proto__',
    'constructor',
  ])('%s is unknown with 404', async (method) => {
    const answer = await post(at.url, { method })
    expect([answer.status, answer.message.error.code]).toEqual([404, -32601])
  })

  test.each(['PUT', 'PATCH', 'HEAD'])('HTTP %s is refused with 405', async (method) => {
    expect((await fetch(at.url, { method })).status).toBe(405)
  })

  test('another path is refused with 404 and told where the endpoint is', async () => {
    const answer = await fetch(at.url.replace('/mcp', '/other'), { method: 'POST' })
    expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('/mcp')])
  })
})

describe('clients that do not behave', () => {
  const talk = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(at.port, '127.0.0.1', () => socket.write(text))
      let heard = ''
      socket.on('data', (chunk) => (heard += chunk.toString()))
      socket.on('close', () => resolve(heard))
      socket.on('error', reject)
    })

  test('a request that never ends is cut off', async () => {
    expect(await talk(`POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"half`)).toContain('408')
  })

  test('a head that never ends is cut off', async () => {
    expect(await talk('POST /mcp HTTP/1.1\r\nHost: 127.')).toContain('408')
  })

  test('what is no HTTP is refused', async () => {
    expect(await talk('hello there\r\n\r\n')).toContain('400')
  })
})

test('an error of a tool reaches the model as words, an error of the server as a number', async () => {
  expect((await call(at.url, 'throws')).message.result).toMatchObject({
    isError: true,
    content: [{ text: 'the database is away' }],
  })
})
