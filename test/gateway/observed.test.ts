/** What an operator sees of calls: their log, and their traces. */
import { SpanKind } from '@opentelemetry/api'
import { gatewayConfigOf } from 'pannier/gateway'
import { createServer } from 'pannier/server'
import manifest from '../../package.json' with { type: 'json' }
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { recordedLog } from '../e2e/fixtures/recordedLog.ts'
import { registerTracing, TRACE, traceparent } from '../fixtures/tracing.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { balancedGateways } from './fixtures/bothEras.ts'
import {
  type AnyClient,
  call,
  CLIENTS,
  connectClient,
  modernServer,
  sessionServer,
  startGateway,
  stdioEntry,
} from './fixtures/gateways.ts'

const SECRET = 'nobody-may-read-this'
const tracestate = 'vendor=1'
const ends: (() => unknown)[] = []
const lines: Record<string, unknown>[] = []
const headers: unknown[] = []
let url: string
let ours: Awaited<ReturnType<typeof modernServer>>

const logger = { ...quiet, info: (details: object, message: string) => void lines.push({ ...details, message }) }

beforeAll(async () => {
  const until = (end: () => unknown): void => void ends.push(end)
  const principal = ({ header }: { header: (name: string) => string | undefined }) => {
    const id = header('authorization')
    return id === undefined ? undefined : { id }
  }
  const server = createServer({
    name: 'traced',
    version: '1',
    keys: KEYS,
    logger: quiet,
    principal: ({ header }) => void headers.push(header('traceparent')),
  })
  server.tool('trace', { description: 'The trace of the call.' }, (_, { meta }) =>
    JSON.stringify([meta['traceparent'], meta['tracestate']]),
  )
  const listening = await server.listen({ drainOnTerm: false })
  until(() => server.drain({ deadlineMs: 0 }))
  ours = await modernServer(until)
  const servers = {
    ours: { url: ours.url },
    traced: { url: listening.url },
    http: { url: (await sessionServer(until)).url },
    gone: { url: 'http://127.0.0.1:1/mcp' },
  }
  const started = await startGateway(servers, { logger, principal }, {}, until)
  url = started.url
})

afterAll(async () => {
  for (const end of ends.reverse()) await end()
})

afterEach(() => {
  lines.length = 0
  headers.length = 0
})

function answered(): Record<string, unknown>[] {
  return lines
    .filter(({ message }) => message === 'A call was answered.')
    .map(({ message, ms, id, ...rest }) => {
      expect(message).toBe('A call was answered.')
      expect(ms).toEqual(expect.any(Number))
      expect(id).toBeDefined()
      return rest
    })
}

type Reader = AnyClient & Record<'readResource' | 'getPrompt', (params: object) => Promise<unknown>>

describe.each(CLIENTS)('calls of the client %s', (kind) => {
  test('are logged with who, where, what, how long and how it ended, and nothing of what was said', async () => {
    const client = (await connectClient(kind, url, { authorization: 'ann', 'x-request-id': 'req-7' })) as Reader
    await call(client, 'http_add', { a: 1, b: 2 })
    await call(client, 'http_note', { text: SECRET })
    await client.getPrompt({ name: 'http_hail', arguments: { name: SECRET } })
    await client.readResource({ uri: 'item://7' })
    await call(client, 'http_fail')
    await expect(call(client, 'gone_tool')).rejects.toThrow('gone')
    const from = { route: '/mcp', principal: 'ann', requestId: 'req-7' }
    expect(answered()).toEqual([
      { ...from, server: 'http', method: 'tools/call', tool: 'add', outcome: 'complete' },
      { ...from, server: 'http', method: 'tools/call', tool: 'note', outcome: 'complete' },
      { ...from, server: 'http', method: 'prompts/get', prompt: 'hail', outcome: 'complete' },
      { ...from, server: 'http', method: 'resources/read', outcome: 'complete' },
      { ...from, server: 'http', method: 'tools/call', tool: 'fail', outcome: 'failed', error: 'tool_error' },
      { ...from, server: 'gone', method: 'tools/call', tool: 'tool', outcome: 'failed', error: 'BACKEND_DOWN' },
    ])
    expect(JSON.stringify(lines)).not.toContain(SECRET)
  })

  test('are logged with the tool, the outcome and the time first, which a terminal shows', async () => {
    const client = await connectClient(kind, url)
    await call(client, 'http_add', { a: 1, b: 2 })
    await call(client, 'http_fail')
    const first = answered().map((line) => Object.keys(line).slice(0, 3))
    expect(first).toEqual([
      ['server', 'tool', 'outcome'],
      ['server', 'tool', 'outcome'],
    ])
  })

  test('that ask are logged by round, or once where the client is asked in place', async () => {
    const client = await connectClient(kind, url)
    await call(client, 'ours_confirm')
    await call(client, 'http_confirm')
    const outcomes = answered().map(({ server, outcome }) => `${String(server)} ${String(outcome)}`)
    const rounds = (server: string) => (kind === 'v2' ? [`${server} asked`, `${server} asked`] : [])
    expect(outcomes).toEqual([...rounds('ours'), 'ours complete', ...rounds('http'), 'http complete'])
  })

  test('that the caller leaves are logged as cancelled', async () => {
    const client = await connectClient(kind, url)
    const left = new AbortController()
    ours.states.length = 0
    const waiting = call(client, 'ours_wait', {}, { signal: left.signal })
    void vi.waitFor(() => expect(ours.states).toContain('waiting')).then(() => left.abort())
    await expect(waiting).rejects.toThrow()
    await vi.waitFor(() => expect(answered()).toMatchObject([{ tool: 'wait', outcome: 'cancelled' }]))
  })

  test.each(['_meta', 'headers'])(
    'pass their trace on that is in %s, where there is no OpenTelemetry',
    async (where) => {
      const client = await connectClient(kind, url, where === 'headers' ? { traceparent, tracestate } : {})
      const meta = where === '_meta' ? { _meta: { traceparent, tracestate } } : {}
      const ask = async (name: string) => {
        const { content } = await client.callTool({ name, arguments: {}, ...meta })
        return JSON.parse(content[0]?.text ?? '') as unknown
      }
      expect(await ask('http_trace')).toEqual([traceparent, tracestate])
      headers.length = 0
      expect(await ask('traced_trace')).toEqual([traceparent, tracestate])
      expect(headers).toContain(traceparent)
      expect(answered()).toMatchObject([{ traceId: TRACE }, { traceId: TRACE }])
    },
  )

  test.each(['_meta', 'headers'])('continue their trace that is in %s with spans of the gateway', async (where) => {
    const traced = registerTracing()
    const client = await connectClient(kind, url, where === 'headers' ? { traceparent } : {})
    const meta = where === '_meta' ? { _meta: { traceparent } } : {}
    const { content } = await client.callTool({ name: 'http_trace', arguments: {}, ...meta })
    const [seen] = JSON.parse(content[0]?.text ?? '') as [string]
    const all = traced.spans
    const inner = all.find(({ kind: of, name }) => of === SpanKind.CLIENT && name === 'tools/call trace')
    const outer = all.find(({ name }) => name === 'tools/call http_trace')
    expect(seen).toBe(`00-${TRACE}-${inner?.spanContext().spanId}-01`)
    expect(inner?.parentSpanContext?.spanId).toBe(outer?.spanContext().spanId)
    expect(outer?.parentSpanContext?.spanId).toBe('00f067aa0ba902b7')
    expect(inner?.attributes).toMatchObject({ 'pannier.gateway.server': 'http', 'gen_ai.tool.name': 'trace' })
  })
})

test('what would pass unread is read where spans are collected, so that the trace has the gateway in it', async () => {
  const client = await connectClient('v2', `${url}/traced`)
  const ask = async () => {
    const { content } = await client.callTool({ name: 'trace', arguments: {}, _meta: { traceparent } })
    return (JSON.parse(content[0]?.text ?? '') as [string])[0]
  }
  expect(await ask()).toBe(traceparent)
  const traced = registerTracing()
  const seen = await ask()
  const inner = traced.spans.find(({ kind, name }) => kind === SpanKind.CLIENT && name === 'tools/call trace')
  expect(seen).toBe(`00-${TRACE}-${inner?.spanContext().spanId}-01`)
})

test('a stop is two lines in the log, however many addresses the gateway has', async () => {
  const { url: one } = await modernServer()
  const { logger: kept, lines: log } = recordedLog()
  const top = { gateway: { views: { some: {} } } }
  const { gateway } = await startGateway({ one: { url: one }, two: { url: one } }, { logger: kept }, top)
  await gateway.reload(await gatewayConfigOf({ mcpServers: { one: { url: one } } }))
  await gateway.drain({ deadlineMs: 0 })
  const said = log.filter(({ level, message }) => level === 'info' && message.startsWith('Drain'))
  expect(said).toEqual([
    { level: 'info', fields: { inFlight: 0, waiting: 0 }, message: 'Draining.' },
    { level: 'info', fields: { inFlight: 0, waiting: 0 }, message: 'Drained.' },
  ])
})

test('a call that another gateway serves is logged with the code of its failure', async () => {
  const { logger: kept, lines: log } = recordedLog()
  const until = (end: () => unknown): void => onTestFinished(() => void end())
  const { url: balanced } = await balancedGateways({ stdio: stdioEntry() }, until, { logger: kept })
  const client = await connectClient('v1', balanced)
  for (let time = 0; time < 4; time++) await expect(call(client, 'stdio_die')).rejects.toThrow('has closed')
  const errors = log.filter(({ message }) => message === 'A call was answered.').map(({ fields }) => fields)
  expect(errors.map((fields) => (fields as { error?: string }).error)).toEqual(Array(4).fill('BACKEND_LOST'))
})

test('a caller with a token is logged by subject and issuer', async () => {
  const { logger: kept, lines: log } = recordedLog()
  const issuer = 'https://login.example.com'
  const token = { id: JSON.stringify([issuer, 'ann']), subject: 'ann', issuer }
  const { url: known } = await startGateway({ ours: { url: ours.url } }, { logger: kept, principal: () => token })
  await call(await connectClient('v2', known), 'ours_add', { a: 1, b: 2 })
  expect(log.at(-1)?.fields).toMatchObject({ principal: 'ann', issuer })
})

test('the gateway has the name and version of the package', async () => {
  const client = (await connectClient('v2', url)) as AnyClient & { getServerVersion(): object }
  expect(client.getServerVersion()).toMatchObject({ name: 'pannier-gateway', version: manifest.version })
})

test('a trace that is none is not made a header', async () => {
  const client = await connectClient('v2', url, {})
  const bad = { traceparent: 'no\r\nx-evil: 1', tracestate }
  await client.callTool({ name: 'traced_trace', arguments: {}, _meta: bad })
  expect(headers.filter((value) => value !== undefined)).toEqual([])
})
