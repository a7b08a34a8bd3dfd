/** In place of openTelemetry.ts in bundles, which can only hold what is imported. */
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
