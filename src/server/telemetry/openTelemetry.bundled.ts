/** In place of openTelemetry.ts in bundles, which can only hold what is imported. */
import * as api from '@opentelemetry/api'
import type { OpenTelemetry } from './openTelemetry.ts'

export function openTelemetry(): OpenTelemetry | undefined {
  return api
}
