/** The API of OpenTelemetry, loaded when an SDK is registered. Bundles have openTelemetry.bundled.ts in its place. */
import { createRequire } from 'node:module'
import type * as opentelemetry from '@opentelemetry/api'

// Written out so that tools which collect the files of a deployment find the package.
const require = createRequire(import.meta.url)

/** The part of it that is used. */
export type OpenTelemetry = Pick<
  typeof opentelemetry,
  'context' | 'createNoopMeter' | 'metrics' | 'propagation' | 'ROOT_CONTEXT' | 'SpanKind' | 'SpanStatusCode' | 'trace'
>

/** The global registry that all copies of version 1 of the API share. */
const REGISTRY = Symbol.for('opentelemetry.js.api.1')

let api: OpenTelemetry | undefined

/** Undefined as long as no SDK is registered. */
export function openTelemetry(): OpenTelemetry | undefined {
  if ((globalThis as Record<symbol, unknown>)[REGISTRY] === undefined) return undefined
  return (api ??= require('@opentelemetry/api') as OpenTelemetry)
}
