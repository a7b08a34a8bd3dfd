/** The entry for places where nothing stays, over `fetch`, `listen` and standard input. */
import { PassThrough } from 'node:stream'
import { text as textOfStream } from 'node:stream/consumers'
import { trace } from '@opentelemetry/api'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import * as z from 'zod'
import { accept, Caller } from '../../test/docs/fixtures/caller.ts'
import { createServer, type ModernServerOptions, openTelemetry } from './index.ts'

afterEach(() => trace.disable())

function server(options: Partial<ModernServerOptions> = {}) {
  const made = createServer({ name: 'restaurant', version: '1.0.0', ...options })
  const schema = z.object({ people: z.number() })
  return made.tool('book', { description: 'Books a table.' }, async (_, ctx) => {
    const { people } = await ctx.ask('people', { message: 'For how many?', schema })
    return `Booked for ${people}.`
  })
}

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'old', version: '1' } },
}

const REFUSED = { error: { code: -32_022, data: { supported: ['2026-07-28'], requested: '2025-11-25' } } }

test('a call asks and ends, over fetch and over a listener', async () => {
  const { text } = await new Caller(server().fetch).call('book', {}, { people: accept({ people: 4 }) })
  expect(text).toBe('Booked for 4.')
  const listening = await server().listen()
  onTestFinished(() => listening.close())
  const caller = new Caller(fetch, { url: listening.url })
  expect((await caller.call('book', {}, { people: accept({ people: 2 }) })).text).toBe('Booked for 2.')
})

test('a session-era client learns which version is served, over HTTP and over standard input', async () => {
  const request = new Request('http://localhost/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(INITIALIZE),
  })
  expect(await (await server().fetch(request)).json()).toMatchObject(REFUSED)
  const [input, output] = [new PassThrough(), new PassThrough()]
  input.end(`${JSON.stringify(INITIALIZE)}\n`)
  await server().stdio({ input, output, drainOnTerm: false })
  output.end()
  expect(JSON.parse(await textOfStream(output))).toHaveProperty('error')
})

test('a GET, which only sessions have, is answered with 405', async () => {
  const headers = { accept: 'text/event-stream' }
  expect((await server().fetch(new Request('http://localhost/mcp', { headers }))).status).toBe(405)
})

test('requests are traced where the server asks for it', async () => {
  const exporter = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }))
  await new Caller(server().fetch).round('book')
  expect(exporter.getFinishedSpans()).toEqual([])
  await new Caller(server({ telemetry: openTelemetry }).fetch).round('book')
  expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(['tools/call book'])
})

test.each(['legacy', 'architecture', 'assume', 'sessionTtlSeconds', 'advertise', 'peers'])(
  'the option %s is refused with where it belongs',
  (name) => {
    expect(() => server({ [name]: undefined })).toThrow(`no option "${name}": import it from pannier/server`)
  },
)
