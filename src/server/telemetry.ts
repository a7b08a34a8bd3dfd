/** Spans and counters by OpenTelemetry's API. Without a registered SDK a request pays one comparison. */
import {
  type Attributes,
  type Counter,
  metrics,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { Call } from './call.ts'

export interface RequestSpan {
  end(): void
  fail(error: unknown): void
}

const TRACE_FIELDS = ['traceparent', 'tracestate', 'baggage']

export class Telemetry {
  readonly #requests: Counter = metrics
    .getMeter('pannier')
    .createCounter('mcp.server.requests', { description: 'Requests answered' })
  readonly #enabled: boolean

  constructor(enabled = isRegistered()) {
    this.#enabled = enabled
  }

  start(call: Call): RequestSpan | undefined {
    return this.#enabled ? this.#begin(call) : undefined
  }

  #begin(call: Call): RequestSpan {
    const attributes = attributesOf(call)
    const parent = propagation.extract(ROOT_CONTEXT, traceFields(call))
    const span = trace
      .getTracer('pannier')
      .startSpan(spanName(attributes, call.method), { kind: SpanKind.SERVER, attributes }, parent)
    const finish = (outcome: string): void => {
      span.end()
      this.#requests.add(1, { ...attributes, outcome })
    }
    return {
      end: () => finish('ok'),
      fail: (error) => {
        span.setStatus({ code: SpanStatusCode.ERROR })
        span.setAttribute('error.type', String((error as { code?: unknown }).code ?? 'internal'))
        finish('error')
      },
    }
  }
}

function isRegistered(): boolean {
  const provider = trace.getTracerProvider() as { getDelegate?: () => { constructor: { name: string } } }
  return provider.getDelegate?.().constructor.name !== 'NoopTracerProvider'
}

/** Names of the semantic conventions for MCP; never arguments, answers or states. */
function attributesOf({ method, params, peer }: Call): Attributes {
  const name = params['name'] ?? params['uri']
  return {
    'mcp.method.name': method,
    'mcp.protocol.version': peer.version,
    ...(method === 'tools/call' && typeof name === 'string' && { 'gen_ai.tool.name': name }),
    ...(method === 'prompts/get' && typeof name === 'string' && { 'gen_ai.prompt.name': name }),
  }
}

function spanName(attributes: Attributes, method: string): string {
  const target = attributes['gen_ai.tool.name'] ?? attributes['gen_ai.prompt.name']
  return target === undefined ? method : `${method} ${target}`
}

function traceFields({ meta }: Call): Record<string, string> {
  return Object.fromEntries(
    TRACE_FIELDS.flatMap((field) => (typeof meta[field] === 'string' ? [[field, meta[field]]] : [])),
  )
}
