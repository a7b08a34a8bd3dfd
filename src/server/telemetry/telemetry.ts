/**
 * Spans and metrics by OpenTelemetry's API. An SDK may be registered before or after the server is created, so each
 * request checks for one; without it, that check is the only cost.
 */
import type { MeterProvider, Tracer, TracerProvider } from '@opentelemetry/api'
import { openTelemetry as api } from '#lazy/server/telemetry/openTelemetry'
import type { Call } from '../call.ts'
import type { Registry } from '../catalog/registry.ts'
import type { NoticeOutcome } from '../taskPort.ts'
import { describeCall } from './attributes.ts'
import { createInstruments, type Instruments } from './instruments.ts'
import type { OpenTelemetry } from './openTelemetry.ts'
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

  /** `known`: whether this server has the method. Undefined when no SDK is registered. */
  start(call: Call, known: boolean): RequestSpan | undefined {
    const found = api()
    if (found === undefined) return undefined
    const tracer = this.#currentTracer(found)
    // The instance that forwards a call measures it.
    const instruments = call.forwardedBy ? undefined : this.#currentInstruments(found)
    if (tracer === undefined && instruments === undefined) return undefined
    return new RequestSpan(found, describeCall(call, known, this.#registry), call, tracer, instruments)
  }

  /** An attempt to notify people of a question. */
  notice(channel: string, outcome: NoticeOutcome): void {
    const found = api()
    if (found !== undefined) this.#currentInstruments(found)?.notices.add(1, { channel, outcome })
  }

  #currentTracer({ trace }: OpenTelemetry): Tracer | undefined {
    const provider = trace.getTracerProvider()
    if (provider !== this.#tracerProvider) {
      this.#tracer = tracerOf(provider)
      this.#tracerProvider = this.#tracer && provider
    }
    return this.#tracer
  }

  #currentInstruments({ metrics, createNoopMeter }: OpenTelemetry): Instruments | undefined {
    const provider = metrics.getMeterProvider()
    if (provider !== this.#meterProvider) {
      const meter = provider.getMeter(SCOPE)
      this.#instruments = meter === createNoopMeter() ? undefined : createInstruments(meter)
      this.#meterProvider = provider
    }
    return this.#instruments
  }
}

/** Spans and metrics of requests, sent to the SDK that is registered with OpenTelemetry's API. */
export function openTelemetry(registry: Registry): Telemetry {
  return new Telemetry(registry)
}

/**
 * Undefined if no SDK is registered. The API's proxy provider stays the same object when one is; only its delegate
 * changes.
 */
export function tracerOf(
  provider: TracerProvider & { getDelegateTracer?: TracerProvider['getTracer'] },
): Tracer | undefined {
  return provider.getDelegateTracer === undefined ? provider.getTracer(SCOPE) : provider.getDelegateTracer(SCOPE)
}
