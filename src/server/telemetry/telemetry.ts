/**
 * Spans and measurements by OpenTelemetry's API. An SDK may be registered before or after the server is made, so each
 * request looks; without one it pays for that look and nothing else.
 */
import {
  createNoopMeter,
  type MeterProvider,
  metrics,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import type { Call } from '../call.ts'
import { describeCall } from './attributes.ts'
import { createInstruments, type Instruments } from './instruments.ts'
import type { Registry } from '../catalog/registry.ts'
import { RequestSpan } from './requestSpan.ts'

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

  /** `known`: whether this server has the method. Undefined when nobody is listening. */
  start(call: Call, known: boolean): RequestSpan | undefined {
    const tracer = this.#currentTracer()
    const instruments = this.#currentInstruments()
    if (tracer === undefined && instruments === undefined) return undefined
    return new RequestSpan(describeCall(call, known, this.#registry), call.meta, tracer, instruments)
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

/** The API's own provider stays the same object when an SDK is registered; what is behind it changes. */
function tracerOf(provider: TracerProvider & { getDelegateTracer?: TracerProvider['getTracer'] }): Tracer | undefined {
  return provider.getDelegateTracer === undefined ? provider.getTracer(SCOPE) : provider.getDelegateTracer(SCOPE)
}
