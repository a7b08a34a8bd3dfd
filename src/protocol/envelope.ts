import type { ClientCapabilities, Implementation, LoggingLevel } from '@modelcontextprotocol/client'
import { ProtocolError } from './errors.ts'
import { isObject, type Json } from './jsonRpc.ts'

/** The keys of `_meta` that 2026-07-28 reserves. */
export const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  client: 'io.modelcontextprotocol/clientInfo',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  server: 'io.modelcontextprotocol/serverInfo',
  subscription: 'io.modelcontextprotocol/subscriptionId',
} as const

/** The sender of a request of 2026-07-28. Every request has its own envelope. */
export interface Envelope {
  readonly version: string
  readonly client: Implementation | undefined
  readonly capabilities: ClientCapabilities
  readonly logLevel: LoggingLevel | undefined
  readonly meta: Json
}

const NO_META: Json = Object.freeze({})

/** The `_meta` of a request's parameters, empty if there is none. */
export function metaOf(params: Json): Json {
  const meta = params['_meta']
  if (meta === undefined) return NO_META
  if (!isObject(meta)) throw new ProtocolError('PARAMS_INVALID', '"params._meta" must be an object.')
  return meta
}

/** Whether a message has the envelope of 2026-07-28. */
export function hasEnvelope(params: Json): boolean {
  const meta = params['_meta']
  return isObject(meta) && META.version in meta
}

export function readEnvelope(params: Json): Envelope {
  const meta = params['_meta']
  if (!isObject(meta)) throw missing('_meta')
  const version = meta[META.version]
  if (typeof version !== 'string') throw missing(`_meta["${META.version}"]`)
  const capabilities = meta[META.capabilities]
  if (!isObject(capabilities)) throw missing(`_meta["${META.capabilities}"]`)
  return {
    version,
    capabilities,
    client: readClient(meta[META.client]),
    logLevel: readLevel(meta[META.logLevel]),
    meta,
  }
}

export function readClient(client: unknown): Implementation | undefined {
  if (client === undefined) return undefined
  if (!isObject(client) || typeof client['name'] !== 'string' || typeof client['version'] !== 'string') {
    throw new ProtocolError('ENVELOPE_INVALID', 'The client information needs a "name" and a "version".')
  }
  return client as Implementation
}

function readLevel(level: unknown): LoggingLevel | undefined {
  if (level === undefined || isLogLevel(level)) return level
  throw new ProtocolError('ENVELOPE_INVALID', `"params._meta["${META.logLevel}"]" must be a log level, such as "info".`)
}

function missing(field: string): ProtocolError {
  return new ProtocolError('ENVELOPE_INVALID', `The request needs "params.${field}".`)
}

const ORDER: readonly LoggingLevel[] = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

const rank = new Map<unknown, number>(ORDER.map((level, index) => [level, index]))

export function isLogLevel(value: unknown): value is LoggingLevel {
  return rank.has(value)
}

/** Whether `level` is at least `minimum`. */
export function reaches(level: LoggingLevel, minimum: LoggingLevel): boolean {
  return (rank.get(level) ?? 0) >= (rank.get(minimum) ?? 0)
}
