/**
 * The telemetry of one request, from its start to its answer: a span, child spans and events, and measurements.
 *
 * - All rounds of a call are found by one id. The journal carries the span of the first round. A later round has the
 *   client's span as parent and a link to the first round; without a span of the client, the first round is its parent.
 * - So a later round begins its span when its journal is open, with the time at which its request came.
 * - Keys of steps and questions are in spans; arguments, answers, results and messages of errors never are.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Attributes, Context, Span, SpanContext, Tracer } from '@opentelemetry/api'
import type { Watch } from '../../journal/index.ts'
import type { Json } from '../../protocol/index.ts'
import { type Call, type CallObserver, isLaterRound, type TracedCall } from '../call.ts'
import {
  askedAttributes,
  callAttributes,
  type CallDescription,
  errorAttributes,
  questionAttributes,
  thrownAttributes,
} from './attributes.ts'
import type { Instruments } from './instruments.ts'
import type { OpenTelemetry } from './openTelemetry.ts'
import { parentOf, spanContextOf, traceparentOf } from './traceContext.ts'

type SpanOutcome = 'complete' | 'asked' | 'refused' | 'failed'

export class RequestSpan implements CallObserver {
  readonly #api: OpenTelemetry
  readonly #description: CallDescription
  readonly #call: Call
  readonly #tracer: Tracer | undefined
  readonly #instruments: Instruments | undefined
  readonly #startedAt = performance.now()
  /** In milliseconds since 1970. */
  readonly #cameAt = Date.now()
  /** The span of the transport, if any. */
  readonly #outer: SpanContext | undefined
  #context: Context
  #span: Span | undefined
  #isNamed = false
  #asked = false
  #toolFailed = false

  constructor(
    api: OpenTelemetry,
    description: CallDescription,
    call: Call,
    tracer: Tracer | undefined,
    instruments: Instruments | undefined,
  ) {
    const ambient = api.context.active()
    this.#api = api
    this.#description = description
    this.#call = call
    this.#tracer = tracer
    this.#instruments = instruments
    this.#outer = this.#api.trace.getSpanContext(ambient)
    this.#context = parentOf(api, call, ambient)
    if (!isLaterRound(call)) this.#begin()
  }

  /** Runs the method inside the span, so that spans of the handler's author become children. */
  run<T>(handle: () => T): T {
    return this.#api.context.with(this.#context, handle)
  }

  opened<T>(call: TracedCall | undefined, run: () => T): T {
    this.#begin(call?.trace && spanContextOf(call.trace[0]))
    if (call !== undefined) this.#name(call)
    return this.run(run)
  }

  watch(inner: Watch | undefined): Watch | undefined {
    const [tracer, span] = [this.#tracer, this.#span]
    if (tracer === undefined || span === undefined) return inner
    return {
      step: (kind, key, work) => {
        const attributes = { 'pannier.step.key': key }
        const watched = inner === undefined ? work : () => inner.step(kind, key, work)
        return this.#inside(tracer.startSpan(`${kind} ${key}`, { attributes }, this.#inner()), async () => watched())
      },
      replayed: (key) => {
        span.addEvent('pannier.step.replayed', { 'pannier.step.key': key })
        inner?.replayed?.(key)
      },
      ended: () => inner?.ended(),
      unawaited: (what) => inner?.unawaited?.(what),
      refused: (key) => inner?.refused?.(key),
    }
  }

  pushed<T>(
    key: string,
    request: InputRequest,
    send: (request: InputRequest) => Promise<T>,
    call?: TracedCall,
  ): Promise<T> {
    if (this.#tracer === undefined) return send(request)
    if (call !== undefined) markAsked(call)
    const attributes = questionAttributes(key, request, this.#call)
    const span = this.#tracer.startSpan(request.method, { kind: this.#api.SpanKind.CLIENT, attributes }, this.#inner())
    return this.#inside(span, () => send(this.#withTrace(request)))
  }

  carried(meta: Json): Json {
    const carrier = { ...meta }
    this.#api.propagation.inject(this.#context, carrier)
    return carrier
  }

  asked(requests: ReadonlyMap<string, InputRequest>, call?: TracedCall): void {
    this.#asked = true
    if (this.#span === undefined) return
    for (const [key, { method }] of requests) this.#span.addEvent('pannier.question', askedAttributes(key, method))
    if (call === undefined) return
    this.#name(call)
    // Without a question, another instance continues at once.
    if (requests.size > 0) markAsked(call)
  }

  toolFailed(): void {
    this.#toolFailed = true
  }

  answerRefused(): void {
    this.#instruments?.refusedAnswers.add(1, this.#description.common, this.#context)
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

  /** `first`: the span of the call's first round. */
  #begin(first?: SpanContext): void {
    if (this.#tracer === undefined || this.#span !== undefined) return
    const parent = this.#api.trace.getSpanContext(this.#context)
    const linked = [this.#outer, first].filter((other) => other !== undefined && other !== parent)
    const links = parent === undefined ? [] : linked.map((other) => ({ context: other as SpanContext }))
    if (parent === undefined && first !== undefined)
      this.#context = this.#api.trace.setSpanContext(this.#context, first)
    const { spanName, common, own } = this.#description
    const options = { kind: this.#api.SpanKind.SERVER, attributes: { ...common, ...own }, links }
    const startTime = isLaterRound(this.#call) ? { startTime: this.#cameAt } : {}
    this.#span = this.#tracer.startSpan(spanName, { ...options, ...startTime }, this.#context)
    this.#context = this.#api.trace.setSpan(this.#context, this.#span)
  }

  /** Adds the call and the round to the span, and records how long the call waited for this round. */
  #name(call: TracedCall): void {
    if (this.#span === undefined || this.#isNamed) return
    this.#isNamed = true
    this.#span.setAttributes(callAttributes(call))
    const [traceparent, askedAt] = call.trace ?? []
    const first = traceparent === undefined ? undefined : spanContextOf(traceparent)
    // The instance that forwards a round has recorded the wait.
    const hasWaited = askedAt !== undefined && this.#call.forwardedBy === undefined
    if (first !== undefined && hasWaited) this.#waited(call, first, askedAt)
    call.trace = [traceparent ?? traceparentOf(this.#span)]
  }

  /** The time between two rounds, as a span beside them. */
  #waited(call: TracedCall, first: SpanContext, askedAt: number): void {
    const attributes = { ...callAttributes(call), 'pannier.question.keys': [...call.open.keys()] }
    const parent = this.#api.trace.setSpanContext(this.#api.ROOT_CONTEXT, first)
    // The clocks of two instances may differ.
    const wait = this.#tracer?.startSpan('wait', { startTime: Math.min(askedAt, this.#cameAt), attributes }, parent)
    wait?.end(this.#cameAt)
  }

  /** The current context: of a span of the author, or else of this span. */
  #inner(): Context {
    const active = this.#api.context.active()
    return this.#api.trace.getSpan(active) === undefined ? this.#context : active
  }

  /** The question with the active trace in its `_meta`. */
  #withTrace(request: InputRequest): InputRequest {
    const fields: Record<string, string> = {}
    this.#api.propagation.inject(this.#api.context.active(), fields)
    if (Object.keys(fields).length === 0) return request
    const params = request.params as Json | undefined
    return { ...request, params: { ...params, _meta: { ...(params?.['_meta'] as Json), ...fields } } } as InputRequest
  }

  async #inside<T>(span: Span, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#api.context.with(this.#api.trace.setSpan(this.#inner(), span), work)
    } catch (error) {
      span.setAttributes(thrownAttributes(error)).setStatus({ code: this.#api.SpanStatusCode.ERROR })
      throw error
    } finally {
      span.end()
    }
  }

  #finish(outcome: SpanOutcome, more: Attributes): void {
    this.#begin()
    this.#span?.setAttributes(more)
    // Without a description: the message of an error may contain arguments.
    if (outcome === 'failed') this.#span?.setStatus({ code: this.#api.SpanStatusCode.ERROR })
    this.#span?.end()
    if (this.#instruments === undefined) return
    const { duration, requests, rounds } = this.#instruments
    const attributes = { ...this.#description.common, ...more }
    duration.record((performance.now() - this.#startedAt) / 1000, attributes, this.#context)
    requests.add(1, { ...attributes, 'pannier.outcome': outcome }, this.#context)
    if (outcome === 'asked') rounds.add(1, attributes, this.#context)
  }
}

/** The next round knows from here on how long it was waited for. */
function markAsked(call: TracedCall): void {
  if (call.trace !== undefined) call.trace = [call.trace[0], Date.now()]
}
