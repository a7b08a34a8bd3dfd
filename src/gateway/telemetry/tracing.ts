/**
 * The trace of a call continues at the server behind the gateway. In both eras `_meta` carries it (`traceparent`,
 * `tracestate`, `baggage`); servers over HTTP of the stateless era get the headers as well. With an OpenTelemetry SDK the
 * gateway adds its own span; without one it forwards the caller's fields.
 */
import {
  type Attributes,
  context,
  propagation,
  SpanKind,
  SpanStatusCode,
  type TextMapSetter,
  trace,
} from '@opentelemetry/api'
import { isObject, type Json } from '../../protocol/index.ts'
import { type Call, tracerOf } from '../../server/internal.ts'

/** The fields of a trace, in `_meta` and in headers. */
export type TraceFields = Readonly<Record<string, string>>

/** The span of a call at the server behind. */
export interface BackendSpan {
  readonly fields: TraceFields
  run<T>(work: () => T): T
  /** `error`: the code of a failure. */
  end(error: string | undefined): void
}

const TRACE_PARENT = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}$/
/** Printable ASCII, up to the length that the trace context specification requires. */
const TRACE_STATE = /^[\u0020-\u007e]{1,512}$/
const HEADERS = ['traceparent', 'tracestate'] as const

/** Whether spans are collected: then the gateway adds one to each call. */
export function isTraced(): boolean {
  return tracerOf(trace.getTracerProvider()) !== undefined
}

export function startSpan(call: Call, name: string, attributes: Attributes): BackendSpan {
  const tracer = tracerOf(trace.getTracerProvider())
  const given = givenFields(call)
  if (tracer === undefined) return { fields: given, run: (work) => work(), end: () => {} }
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes })
  const inner = trace.setSpan(context.active(), span)
  const injected: Record<string, string> = {}
  propagation.inject(inner, injected, SETTER)
  return {
    fields: injected['traceparent'] === undefined ? given : injected,
    run: (work) => context.with(inner, work),
    end: (error) => {
      // Without a description: the message of an error may contain arguments.
      if (error !== undefined) span.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}

/** The parameters with the trace in their `_meta`. */
export function withTrace(params: Json, fields: TraceFields): Json {
  if (fields['traceparent'] === undefined) return params
  const meta = params['_meta']
  return { ...params, _meta: { ...(isObject(meta) ? meta : {}), ...fields } }
}

/** The same for HTTP. */
export function traceHeaders(fields: TraceFields): TraceFields | undefined {
  if (fields['traceparent'] === undefined) return undefined
  return Object.fromEntries(HEADERS.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])))
}

/** The id of the trace that a call belongs to, for the log. */
export function traceIdOf({ traceparent }: TraceFields): string | undefined {
  return traceparent === undefined ? undefined : TRACE_PARENT.exec(traceparent)?.[1]
}

/** The caller's fields: those in `_meta`, else those in the headers. */
function givenFields({ meta, header }: Call): TraceFields {
  const inMeta = meta['traceparent'] !== undefined
  const read = inMeta ? (name: string) => meta[name] : header
  const traceparent = read?.('traceparent')
  if (typeof traceparent !== 'string' || !TRACE_PARENT.test(traceparent)) return NONE
  const tracestate = read?.('tracestate')
  const isUsable = typeof tracestate === 'string' && TRACE_STATE.test(tracestate)
  return { traceparent, ...(isUsable && { tracestate }) }
}

const NONE: TraceFields = {}

const SETTER: TextMapSetter<Record<string, string>> = {
  set: (carrier, key, value) => {
    carrier[key] = value
  },
}
