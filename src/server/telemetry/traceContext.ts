/** The context of a trace: in the `_meta` and the headers of a request, and in the journal of a call. */
import type { Context, Span, SpanContext, TextMapGetter } from '@opentelemetry/api'
import type { HeaderReader, Json } from '../../protocol/index.ts'
import type { Call } from '../call.ts'
import type { OpenTelemetry } from './openTelemetry.ts'

/** The headers count if `_meta` names no span, unless a span of the transport has already read them. */
export function parentOf(
  { propagation, trace }: OpenTelemetry,
  { meta, header }: Pick<Call, 'meta' | 'header'>,
  ambient: Context,
): Context {
  const readsHeaders = header !== undefined && meta['traceparent'] === undefined && trace.getSpan(ambient) === undefined
  const outer = readsHeaders ? propagation.extract(ambient, header, HEADER_GETTER) : ambient
  return propagation.extract(outer, meta, META_GETTER)
}

const TRACE_FIELDS = ['traceparent', 'tracestate', 'baggage']

/** The keys of `_meta` that the specification reserves for trace context. */
const META_GETTER: TextMapGetter<Json> = {
  keys: (meta) => TRACE_FIELDS.filter((field) => typeof meta[field] === 'string'),
  get: (meta, key) => {
    const value = TRACE_FIELDS.includes(key) ? meta[key] : undefined
    return typeof value === 'string' ? value : undefined
  },
}

const HEADER_GETTER: TextMapGetter<HeaderReader> = {
  keys: () => TRACE_FIELDS,
  get: (header, key) => header(key),
}

const TRACEPARENT = /^00-([\da-f]{32})-([\da-f]{16})-0([01])$/

/** The span as a `traceparent`, whatever propagator is registered. */
export function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`
}

export function spanContextOf(traceparent: string): SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  return { traceId, spanId, traceFlags: Number(flags), isRemote: true }
}
