/** Replaces openTelemetry.ts in bundles, which contain only static imports. */
import {
  context,
  createNoopMeter,
  metrics,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { OpenTelemetry } from './openTelemetry.ts'

const api: OpenTelemetry = {
  context,
  createNoopMeter,
  metrics,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
}

export function openTelemetry(): OpenTelemetry | undefined {
  return api
}
