/** Telemetry against the real OpenTelemetry SDK, which is registered after the server is made unless a test says so. */
import { type Attributes, context, metrics, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core'
import { type Histogram, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { accept, Caller, decline } from '../../../test/docs/fixtures/caller.ts'
import { createServer, ProtocolError } from '../index.ts'

const SECRET = 'an-answer-nobody-should-see'
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = '00f067aa0ba902b7'
const traceparent = `00-${TRACE}-${PARENT}-01`

class PullReader extends MetricReader {
  protected override onShutdown = () => Promise.resolve()
  protected override onForceFlush = () => Promise.resolve()
}

const spans = new InMemorySpanExporter()

function registerTracing(): void {
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(
    new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
  )
}

function registerMetrics(): MetricReader {
  const reader = new PullReader()
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
  return reader
}

afterEach(() => {
  spans.reset()
  trace.disable()
  context.disable()
  propagation.disable()
  metrics.disable()
})

function makeServer() {
  const server = createServer({
    name: 'watched',
    version: '1.0.0',
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
  server.tool('greet', { description: 'Greets', input: z.object({ name: z.string() }) }, ({ name }) => `Hello ${name}`)
  server.tool('work', { description: 'Has a span of its own' }, async () => {
    await Promise.resolve()
    trace.getTracer('author').startSpan('inner').end()
    return propagation.getActiveBaggage()?.getEntry('tenant')?.value ?? 'no baggage'
  })
  server.tool('asks', { description: 'Asks' }, async (_, ctx) => {
    const { word } = await ctx.ask('word', { message: 'Which word?', schema: z.object({ word: z.string() }) })
    return `It was ${word.length} letters`
  })
  server.tool('fails', { description: 'Fails' }, () => {
    throw new Error(SECRET)
  })
  server.tool('refuses', { description: 'Refuses' }, () => {
    throw new ProtocolError('PARAMS_INVALID', SECRET)
  })
  server.prompt('poem', { description: 'A poem' }, () => 'Roses are red')
  server.prompt('broken', { description: 'Broken' }, () => {
    throw new Error(SECRET)
  })
  server.resource('docs://one', { name: 'one' }, () => 'one')
  return server
}

const call = (caller: Caller, name: string, args: object = {}) => caller.send('tools/call', { name, arguments: args })

/** The attributes and value of each point of one metric. */
async function points(reader: MetricReader, name: string): Promise<{ attributes: Attributes; value: unknown }[]> {
  const { resourceMetrics } = await reader.collect()
  return resourceMetrics.scopeMetrics
    .flatMap((scope) => scope.metrics)
    .filter(({ descriptor }) => descriptor.name === name)
    .flatMap(({ dataPoints }) => dataPoints.map(({ attributes, value }) => ({ attributes, value })))
}

describe('a span', () => {
  test('is named by method and tool, and described by the conventions for MCP', async () => {
    const server = makeServer()
    registerTracing()
    await call(new Caller(server.fetch), 'greet', { name: SECRET })
    const [span] = spans.getFinishedSpans()
    expect(span).toMatchObject({
      name: 'tools/call greet',
      kind: SpanKind.SERVER,
      status: { code: SpanStatusCode.UNSET },
    })
    expect(span?.attributes).toEqual({
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': '2026-07-28',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'greet',
      'jsonrpc.request.id': '1',
      'network.transport': 'tcp',
      'pannier.call.id': expect.stringMatching(/^[\da-f]{16}$/),
      'pannier.call.round': 1,
    })
  })

  test.each([
    ['prompts/get', { name: 'poem' }, 'prompts/get poem', { 'gen_ai.prompt.name': 'poem' }],
    ['resources/read', { uri: 'docs://one' }, 'resources/read', { 'mcp.resource.uri': 'docs://one' }],
    ['tools/list', {}, 'tools/list', {}],
    ['server/discover', {}, 'server/discover', {}],
    ['tools/call', { name: 'invented', arguments: {} }, 'tools/call', {}],
    ['invented/method', {}, '_OTHER', {}],
  ])('for %s %j is "%s"', async (method, params, name, attributes) => {
    const server = makeServer()
    registerTracing()
    await new Caller(server.fetch).send(method, params)
    const [span] = spans.getFinishedSpans()
    expect(span?.name).toBe(name)
    expect(span?.attributes).toMatchObject(attributes)
    expect(span?.attributes['gen_ai.tool.name']).toBeUndefined()
  })

  test('has the caller’s span as parent when `_meta` names it', async () => {
    const server = makeServer()
    registerTracing()
    await call(new Caller(server.fetch, { meta: { traceparent, tracestate: 'vendor=1' } }), 'greet', { name: 'Ann' })
    const [span] = spans.getFinishedSpans()
    expect(span?.spanContext().traceId).toBe(TRACE)
    expect(span?.spanContext().traceState?.get('vendor')).toBe('1')
    expect(span?.parentSpanContext).toMatchObject({ spanId: PARENT, isRemote: true })
  })

  test.each([
    ['a text that is none', 'nonsense'],
    ['a number', 7],
    ['an object', { a: 1 }],
  ])('begins a trace of its own when traceparent is %s', async (_, bad) => {
    const server = makeServer()
    registerTracing()
    expect(
      (await call(new Caller(server.fetch, { meta: { traceparent: bad } }), 'greet', { name: 'Ann' })).status,
    ).toBe(200)
    expect(spans.getFinishedSpans()[0]?.parentSpanContext).toBeUndefined()
  })

  test('is linked to the transport’s span, or its child where the caller named none', async () => {
    const server = makeServer()
    registerTracing()
    const http = trace.getTracer('http').startSpan('POST')
    const inHttp = (meta: Record<string, unknown>) =>
      context.with(trace.setSpan(context.active(), http), () =>
        call(new Caller(server.fetch, { meta }), 'greet', { name: 'A' }),
      )
    await inHttp({ traceparent })
    await inHttp({})
    const [linked, child] = spans.getFinishedSpans()
    expect(linked?.links).toMatchObject([{ context: { spanId: http.spanContext().spanId } }])
    expect(linked?.parentSpanContext?.spanId).toBe(PARENT)
    expect(child?.links).toEqual([])
    expect(child?.parentSpanContext?.spanId).toBe(http.spanContext().spanId)
  })

  test('is the parent of the spans a handler begins, and the handler has the caller’s baggage', async () => {
    const server = makeServer()
    registerTracing()
    const { result } = await call(new Caller(server.fetch, { meta: { traceparent, baggage: 'tenant=blue' } }), 'work')
    expect(result.content?.[0]?.text).toBe('blue')
    const [inner, outer] = spans.getFinishedSpans()
    expect(inner?.name).toBe('inner')
    expect(inner?.parentSpanContext?.spanId).toBe(outer?.spanContext().spanId)
    expect(inner?.spanContext().traceId).toBe(TRACE)
  })

  test('ends with each round', async () => {
    const server = makeServer()
    registerTracing()
    await new Caller(server.fetch).call('asks', {}, { word: accept({ word: SECRET }) })
    expect(spans.getFinishedSpans().map(({ name, status }) => [name, status.code])).toEqual([
      ['tools/call asks', SpanStatusCode.UNSET],
      ['wait', SpanStatusCode.UNSET],
      ['tools/call asks', SpanStatusCode.UNSET],
    ])
  })

  test.each([
    ['a tool that throws', 'tools/call', { name: 'fails', arguments: {} }, { 'error.type': 'tool_error' }, 'ERROR'],
    [
      'arguments that do not fit',
      'tools/call',
      { name: 'greet', arguments: { name: 7 } },
      { 'error.type': 'tool_error' },
      'ERROR',
    ],
    [
      'a fault of the server',
      'prompts/get',
      { name: 'broken' },
      { 'error.type': '-32603', 'rpc.response.status_code': '-32603' },
      'ERROR',
    ],
    [
      'a bad request',
      'tools/call',
      { name: 'refuses', arguments: {} },
      { 'rpc.response.status_code': '-32602' },
      'UNSET',
    ],
    ['an unknown method', 'invented/method', {}, { 'rpc.response.status_code': '-32601' }, 'UNSET'],
  ] as const)('tells of %s by code alone', async (_, method, params, attributes, status) => {
    const server = makeServer()
    registerTracing()
    await new Caller(server.fetch).send(method, params)
    const [span] = spans.getFinishedSpans()
    expect(span?.attributes).toMatchObject(attributes)
    expect(Object.keys(attributes).includes('error.type')).toBe('error.type' in (span?.attributes ?? {}))
    expect(span?.status).toEqual({ code: SpanStatusCode[status] })
    expect(span?.events).toEqual([])
  })

  test('tells of a failure that a middleware gives in the place of a result', async () => {
    const server = makeServer()
    server.use(async (_, next) => {
      await next()
      return { isError: true, content: [{ type: 'text', text: 'Not on Sundays.' }] }
    })
    registerTracing()
    await new Caller(server.fetch).round('greet', { name: 'Bob' })
    expect(spans.getFinishedSpans()[0]?.attributes).toMatchObject({ 'error.type': 'tool_error' })
  })

  test('of a session names the session, but not by the token that opens it', async () => {
    const server = makeServer()
    registerTracing()
    const post = (body: object, headers: Record<string, string> = {}) =>
      server.fetch(
        new Request('http://localhost/mcp', {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
        }),
      )
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'old', version: '1.0.0' } }
    const token = (await post({ method: 'initialize', params })).headers.get('mcp-session-id') ?? ''
    await post({ method: 'tools/list', params: { _meta: { traceparent } } }, { 'mcp-session-id': token })
    const [begun, listed] = spans.getFinishedSpans()
    expect(begun?.name).toBe('initialize')
    expect(listed?.attributes).toMatchObject({ 'mcp.protocol.version': '2025-11-25' })
    expect(listed?.attributes['mcp.session.id']).toEqual(expect.any(String))
    expect(token).not.toContain(listed?.attributes['mcp.session.id'])
    expect(listed?.spanContext().traceId).toBe(TRACE)
  })
})

describe('measurements', () => {
  test('are a duration in seconds, a count of requests by outcome and a count of rounds that asked', async () => {
    const server = makeServer()
    const reader = registerMetrics()
    const caller = new Caller(server.fetch)
    await call(caller, 'greet', { name: SECRET })
    await call(caller, 'greet', { name: SECRET })
    await caller.call('asks', {}, { word: accept({ word: SECRET }) })
    await caller.call('asks', {}, { word: decline })
    await call(caller, 'refuses')
    await caller.send('prompts/get', { name: 'broken' })

    const requests = (await points(reader, 'pannier.server.requests')).map(({ attributes, value }) => [
      attributes['gen_ai.tool.name'] ?? attributes['gen_ai.prompt.name'],
      attributes['pannier.outcome'],
      value,
    ])
    expect(requests).toEqual([
      ['greet', 'complete', 2],
      ['asks', 'asked', 2],
      ['asks', 'complete', 1],
      ['asks', 'failed', 1],
      ['refuses', 'refused', 1],
      ['broken', 'failed', 1],
    ])
    expect(await points(reader, 'pannier.server.rounds.asked')).toMatchObject([
      { attributes: { 'gen_ai.tool.name': 'asks' }, value: 2 },
    ])
    const durations = await points(reader, 'mcp.server.operation.duration')
    const greet = durations.find(({ attributes }) => attributes['gen_ai.tool.name'] === 'greet')
    expect(greet?.attributes).toEqual({
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': '2026-07-28',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'greet',
    })
    const histogram = greet?.value as Histogram
    expect(histogram.count).toBe(2)
    expect(histogram.sum).toBeGreaterThan(0)
    expect(histogram.sum).toBeLessThan(2)
    expect(histogram.buckets.boundaries[0]).toBe(0.01)
  })

  test('do not grow with what callers invent', async () => {
    const server = makeServer()
    const reader = registerMetrics()
    const caller = new Caller(server.fetch)
    for (let index = 0; index < 20; index++) {
      await call(caller, `invented-${index}`)
      await caller.send(`invented/${index}`)
      await caller.send('resources/read', { uri: `docs://invented-${index}` })
    }
    expect(await points(reader, 'pannier.server.requests')).toHaveLength(3)
  })
})

test('no argument, answer, state or error message is in anything that leaves', async () => {
  const server = makeServer()
  registerTracing()
  const reader = registerMetrics()
  const caller = new Caller(server.fetch)
  const states: string[] = []
  const asked = await call(caller, 'asks')
  states.push(asked.result.requestState ?? '')
  await caller.call('asks', {}, { word: accept({ word: SECRET }) })
  await call(caller, 'greet', { name: SECRET })
  await call(caller, 'fails')
  await call(caller, 'refuses')
  await caller.send('prompts/get', { name: 'broken' })
  await caller.round('asks', {}, { requestState: `${states[0]}x`, inputResponses: { word: accept({ word: SECRET }) } })
  const told = spans
    .getFinishedSpans()
    .map(({ name, attributes, events, status, links }) => ({ name, attributes, events, status, links }))
  const { resourceMetrics } = await reader.collect()
  const all = JSON.stringify([told, resourceMetrics.scopeMetrics])
  expect(all).toContain('tools/call greet')
  for (const hidden of [SECRET, ...states]) expect(all).not.toContain(hidden)
})

describe('an SDK', () => {
  test('that is registered, exchanged and taken away while the server runs is used while it is there', async () => {
    const server = makeServer()
    const caller = new Caller(server.fetch)
    const greet = () => call(caller, 'greet', { name: 'Ann' })
    await greet()
    expect(spans.getFinishedSpans()).toHaveLength(0)
    registerTracing()
    await greet()
    expect(spans.getFinishedSpans()).toHaveLength(1)
    trace.disable()
    await greet()
    expect(spans.getFinishedSpans()).toHaveLength(1)
    context.disable()
    propagation.disable()
    registerTracing()
    await greet()
    expect(spans.getFinishedSpans()).toHaveLength(2)

    const first = registerMetrics()
    await greet()
    metrics.disable()
    const second = registerMetrics()
    await greet()
    await greet()
    expect(await points(first, 'pannier.server.requests')).toMatchObject([{ value: 1 }])
    expect(await points(second, 'pannier.server.requests')).toMatchObject([{ value: 2 }])
  })

  test('that was there before the server is used as well', async () => {
    registerTracing()
    const server = makeServer()
    await call(new Caller(server.fetch), 'greet', { name: 'Ann' })
    expect(spans.getFinishedSpans()).toHaveLength(1)
  })

  test('that samples nothing does not change an answer', async () => {
    trace.setGlobalTracerProvider(
      new TracerProvider({ sampler: { shouldSample: () => ({ decision: 0 }), toString: () => 'none' } }),
    )
    const reply = await call(new Caller(makeServer().fetch), 'greet', { name: 'Ann' })
    expect(reply.result.content?.[0]?.text).toBe('Hello Ann')
  })
})
