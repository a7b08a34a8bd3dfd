import { type Json, ProtocolError } from '../../protocol/index.ts'
import type { Call } from '../call.ts'
import type { Context } from '../handler/context.ts'
import type { ResourceOptions, ResourceReturn } from '../catalog/definitions.ts'
import type { InputRequired } from '../handler/questions.ts'
import type { RoundRunner } from './rounds.ts'
import type { Registry } from '../catalog/registry.ts'

interface Found {
  readonly options: ResourceOptions
  readonly read: (ctx: Context) => ResourceReturn | Promise<ResourceReturn>
}

/** resources/read: find the resource by URI or template, run a round of its handler. */
export function readResource(registry: Registry, rounds: RoundRunner) {
  return async (call: Call): Promise<string> => {
    const { uri } = call.params
    if (typeof uri !== 'string') throw new ProtocolError('PARAMS_INVALID', '"params.uri" must be a string.')
    const found = find(registry, uri)
    if (found === undefined) throw new ProtocolError('RESOURCE_UNKNOWN', 'There is no such resource.', { uri })
    return rounds.play<Exclude<ResourceReturn, InputRequired>>(call, {
      subject: { name: uri, args: undefined },
      invoke: (ctx) => found.read(ctx),
      finish: (value) => ({ ...contents(uri, value, found.options), ...cachingOf(call, found.options) }),
    })
  }
}

function find(registry: Registry, uri: string): Found | undefined {
  const exact = registry.resources.get(uri)
  if (exact !== undefined) return { options: exact.options, read: (ctx) => exact.handler(uri, ctx) }
  for (const { template, options, handler } of registry.templates.values()) {
    const variables = template.match(uri)
    if (variables !== undefined) return { options, read: (ctx) => handler(uri, variables, ctx) }
  }
  return undefined
}

function contents(uri: string, value: Exclude<ResourceReturn, InputRequired>, { mimeType }: ResourceOptions): Json {
  const described = { uri, ...(mimeType !== undefined && { mimeType }) }
  if (typeof value === 'string') return { contents: [{ ...described, text: value }] }
  if (value instanceof Uint8Array) return { contents: [{ ...described, blob: Buffer.from(value).toString('base64') }] }
  return value
}

/** The result of a later round depends on answers, which are in no cache key, so it must not be cached. */
function cachingOf({ peer, params }: Call, { ttlMs = 0, cacheScope = 'private' }: ResourceOptions): Json {
  if (peer.era !== 'modern') return {}
  const answered = 'inputResponses' in params || 'requestState' in params
  return answered ? { ttlMs: 0, cacheScope: 'private' } : { ttlMs, cacheScope }
}
