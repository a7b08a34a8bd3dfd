import { type Json, ProtocolError, toBase64 } from '../../protocol/index.ts'
import type { Call } from '../call.ts'
import type { Context } from '../handler/context.ts'
import { resourceIssue } from '../catalog/content.ts'
import type { ResourceOptions, ResourceReturn } from '../catalog/definitions.ts'
import { ServerError } from '../errors.ts'
import type { InputRequired } from '../handler/questions.ts'
import { shortened } from '../logger.ts'
import type { RoundRunner } from './rounds.ts'
import type { AccessControl } from '../catalog/accessControl.ts'
import type { FoundResource, Registry } from '../catalog/registry.ts'

/** resources/read: find the resource by URI or template, run a round of its handler. */
export function readResource(registry: Registry, rounds: RoundRunner, access: AccessControl) {
  return async (call: Call): Promise<string> => {
    const { uri } = call.params
    if (typeof uri !== 'string') throw new ProtocolError('PARAMS_INVALID', '"params.uri" must be a string.')
    const found = registry.findResource(uri)
    if (found === undefined) throw unknownResource(uri)
    const { access: rule, options, carry } = found.entry
    if (rule !== undefined) access.assertAllowed(rule, call, () => unknownResource(uri))
    return rounds.run<Exclude<ResourceReturn, InputRequired>>(call, {
      subject: { name: uri, args: undefined, carry },
      invoke: (ctx) => read(found, uri, ctx),
      finish: (value) => ({ ...contents(uri, value, options), ...cachingOf(call, options) }),
    })
  }
}

function unknownResource(uri: string): ProtocolError {
  return new ProtocolError('RESOURCE_UNKNOWN', 'There is no such resource.', { uri })
}

function read({ entry, variables }: FoundResource, uri: string, ctx: Context) {
  return variables === undefined ? entry.handler(uri, ctx) : entry.handler(uri, variables, ctx)
}

function contents(uri: string, value: Exclude<ResourceReturn, InputRequired>, { mimeType }: ResourceOptions): Json {
  const described = { uri, ...(mimeType !== undefined && { mimeType }) }
  if (typeof value === 'string') return { contents: [{ ...described, text: value }] }
  if (value instanceof Uint8Array) return { contents: [{ ...described, blob: toBase64(value, 'base64') }] }
  const issue = resourceIssue(value)
  if (issue === undefined) return value
  throw new ServerError(
    'RESOURCE_OUTPUT_INVALID',
    `What the resource "${shortened(uri)}" returned is not valid: ${issue}`,
  )
}

/** The result of a later round depends on answers, which are in no cache key, so it must not be cached. */
function cachingOf({ peer, params }: Call, { ttlMs = 0, cacheScope = 'private' }: ResourceOptions): Json {
  if (peer.era !== 'modern') return {}
  const answered = 'inputResponses' in params || 'requestState' in params
  return answered ? { ttlMs: 0, cacheScope: 'private' } : { ttlMs, cacheScope }
}
