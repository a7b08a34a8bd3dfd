/** Runs of tasks as OpenTelemetry sees them. */
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, expect, test } from 'vitest'
import { listening, offerEcho, taskServer } from './fixtures/echoServer.ts'
import { accept, TaskCaller } from '../fixtures/modernClient.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const spans = new InMemorySpanExporter()

afterEach(() => {
  trace.disable()
  context.disable()
  propagation.disable()
})

test('each run of a task is a span of the trace that its call belonged to', async () => {
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  const url = await listening(offerEcho(taskServer()))
  const meta = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` }
  const taskId = await new TaskCaller(url, { meta }).create('echo')
  const client = new TaskCaller(url)
  await client.until(taskId, 'input_required')
  await client.update(taskId, { echo_input: accept({ input: 'a secret' }) })
  await client.until(taskId, 'completed')
  const ofTrace = spans.getFinishedSpans().filter((span) => span.spanContext().traceId === TRACE)
  expect(ofTrace.map(({ name }) => name)).toEqual(['tools/call echo', 'tools/call echo', 'tools/call echo'])
  expect(JSON.stringify(ofTrace.map(({ attributes }) => attributes))).not.toContain('secret')
})
