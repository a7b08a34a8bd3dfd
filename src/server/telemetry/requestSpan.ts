/** One request as telemetry sees it, from its start to its answer. */
import {
  type Attributes,
  type Context,
  context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { Json } from '../../protocol/index.ts'
import type { CallNotes } from '../call.ts'
import { type CallDescription, errorAttributes } from './attributes.ts'
import type { Instruments } from './instruments.ts'

export class RequestSpan implements CallNotes {
  readonly #call: CallDescription
  readonly #span: Span | undefined
  readonly #context: Context
  readonly #instruments: Instruments | undefined
  readonly #startedAt = performance.now()
  #asked = false
  #toolFailed = false

  constructor(call: CallDescription, meta: Json, tracer: Tracer | undefined, instruments: Instruments | undefined) {
    const ambient = context.active()
    const parent = propagation.extract(ambient, meta, META_GETTER)
    this.#call = call
    this.#instruments = instruments
    this.#span = tracer?.startSpan(call.spanName, spanOptions(call, ambient, parent), parent)
    this.#context = this.#span === undefined ? parent : trace.setSpan(parent, this.#span)
  }

  /** Runs the handler, so that spans its author begins become children of this one. */
  run<T>(handle: () => T): T {
    return context.with(this.#context, handle)
  }

  asked(): void {
    this.#asked = true
  }

  toolFailed(): void {
    this.#toolFailed = true
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

  #finish(outcome: Outcome, more: Attributes): void {
    this.#span?.setAttributes(more)
    // Without a description: an error's message may say what was in the arguments.
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

type Outcome = 'complete' | 'asked' | 'refused' | 'failed'

function spanOptions({ common, own }: CallDescription, ambient: Context, parent: Context) {
  const outer = trace.getSpanContext(ambient)
  // The caller's span is the parent; the transport's, where there is one, is linked.
  const links = outer !== undefined && outer !== trace.getSpanContext(parent) ? [{ context: outer }] : []
  return { kind: SpanKind.SERVER, attributes: { ...common, ...own }, links }
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
