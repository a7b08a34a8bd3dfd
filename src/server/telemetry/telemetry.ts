/**
 * Spans and metrics by OpenTelemetry's API. An SDK may be registered before or after the server is created, so each
 * request checks for one; without it, that check is the only cost.
 */
import {
  type Attributes,
  type Context,
  context,
  createNoopMeter,
  type MeterProvider,
  metrics,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  trace,
  type Tracer,
  type TracerProvider,
  type Counter,
  type Histogram,
  type Meter,
} from '@opentelemetry/api'
import type { HeaderReader, Json } from '../../protocol/index.ts'
import type { Call, CallObserver } from '../call.ts'
import type { Registry } from '../catalog/registry.ts'
import { type CallDescription, describeCall, errorAttributes } from './attributes.ts'

const SCOPE = 'pannier'

export class Telemetry {
  readonly #registry: Registry
  #tracerProvider: TracerProvider | undefined
  #tracer: Tracer | undefined
  #meterProvider: MeterProvider | undefined
  #instruments: Instruments | undefined

  constructor(registry: Registry) {
    this.#registry = registry
  }

  /** `known`: whether this server has the method. Undefined when no SDK is registered. */
  start(call: Call, known: boolean): RequestSpan | undefined {
    const tracer = this.#currentTracer()
    const instruments = this.#currentInstruments()
    if (tracer === undefined && instruments === undefined) return undefined
    return new RequestSpan(describeCall(call, known, this.#registry), call, tracer, instruments)
  }

  #currentTracer(): Tracer | undefined {
    const provider = trace.getTracerProvider()
    if (provider !== this.#tracerProvider) {
      this.#tracer = tracerOf(provider)
      this.#tracerProvider = this.#tracer && provider
    }
    return this.#tracer
  }

  #currentInstruments(): Instruments | undefined {
    const provider = metrics.getMeterProvider()
    if (provider !== this.#meterProvider) {
      const meter = provider.getMeter(SCOPE)
      this.#instruments = meter === createNoopMeter() ? undefined : createInstruments(meter)
      this.#meterProvider = provider
    }
    return this.#instruments
  }
}

/**
 * Undefined where no SDK is registered. The API's proxy provider stays the same object when one is; only its delegate
 * changes.
 */
export function tracerOf(
  provider: TracerProvider & { getDelegateTracer?: TracerProvider['getTracer'] },
): Tracer | undefined {
  return provider.getDelegateTracer === undefined ? provider.getTracer(SCOPE) : provider.getDelegateTracer(SCOPE)
}

/** One request as telemetry sees it, from its start to its answer. */
class RequestSpan implements CallObserver {
  readonly #call: CallDescription
  readonly #span: Span | undefined
  readonly #context: Context
  readonly #instruments: Instruments | undefined
  readonly #startedAt = performance.now()
  #asked = false
  #toolFailed = false

  constructor(
    description: CallDescription,
    call: Pick<Call, 'meta' | 'header'>,
    tracer: Tracer | undefined,
    instruments: Instruments | undefined,
  ) {
    const ambient = context.active()
    const parent = parentOf(call, ambient)
    this.#call = description
    this.#instruments = instruments
    this.#span = tracer?.startSpan(description.spanName, spanOptions(description, ambient, parent), parent)
    this.#context = this.#span === undefined ? parent : trace.setSpan(parent, this.#span)
  }

  /** Runs the handler inside the span, so that spans of its author become children. */
  run<T>(handle: () => T): T {
    return context.with(this.#context, handle)
  }

  asked(): void {
    this.#asked = true
  }

  toolFailed(): void {
    this.#toolFailed = true
  }

  answerRefused(): void {
    this.#instruments?.refusedAnswers.add(1, this.#call.common, this.#context)
  }

  end(): void {
    if (this.#toolFailed) this.#finish('failed', { 'error.type': 'tool_error' })
    else this.#finish(this.#asked ? 'asked' : 'complete', {})
  }

  /** The request is answered with this error code. */
  fail(code: number): void {
    const attributes = errorAttributes(code)
    this.#finish(attributes['error.type'] === undefined ? 'refused' : 'failed', attributes)
  }

  #finish(outcome: SpanOutcome, more: Attributes): void {
    this.#span?.setAttributes(more)
    // Without a description: the message of an error may contain arguments.
    if (outcome === 'failed') this.#span?.setStatus({ code: SpanStatusCode.ERROR })
    this.#span?.end()
    if (this.#instruments === undefined) return
    const { duration, requests, rounds } = this.#instruments
    const attributes = { ...this.#call.common, ...more }
    duration.record((performance.now() - this.#startedAt) / 1000, attributes, this.#context)
    requests.add(1, { ...attributes, 'pannier.outcome': outcome }, this.#context)
    if (outcome === 'asked') rounds.add(1, attributes, this.#context)
  }
}

type SpanOutcome = 'complete' | 'asked' | 'refused' | 'failed'

function spanOptions({ common, own }: CallDescription, ambient: Context, parent: Context) {
  const outer = trace.getSpanContext(ambient)
  // The caller's span is the parent. A span of the transport, if there is one, is linked.
  const links = outer !== undefined && outer !== trace.getSpanContext(parent) ? [{ context: outer }] : []
  return { kind: SpanKind.SERVER, attributes: { ...common, ...own }, links }
}

/** Who names no span in `_meta` may do so in headers, unless the transport has a span of its own, which read them. */
function parentOf({ meta, header }: Pick<Call, 'meta' | 'header'>, ambient: Context): Context {
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

/** The metrics. The semantic conventions for MCP name the duration, and none of the others. */
interface Instruments {
  readonly duration: Histogram
  readonly requests: Counter
  /** Rounds that ended with a question. */
  readonly rounds: Counter
  readonly refusedAnswers: Counter
}

const BOUNDARIES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

function createInstruments(meter: Meter): Instruments {
  return {
    duration: meter.createHistogram('mcp.server.operation.duration', {
      description: 'From the arrival of a request to its answer',
      unit: 's',
      advice: { explicitBucketBoundaries: BOUNDARIES },
    }),
    requests: meter.createCounter('pannier.server.requests', { description: 'Requests answered', unit: '{request}' }),
    rounds: meter.createCounter('pannier.server.rounds.asked', {
      description: 'Rounds that ended with a question to the client',
      unit: '{round}',
    }),
    refusedAnswers: meter.createCounter('pannier.server.answers.refused', {
      description: 'Answers that did not fit their questions',
      unit: '{answer}',
    }),
  }
}
