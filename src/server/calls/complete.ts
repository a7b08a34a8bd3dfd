import { isObject, type Json, ProtocolError } from '../../protocol/index.ts'
import type { Call } from '../call.ts'
import type { CompletionTarget } from '../catalog/definitions.ts'
import type { AccessRule } from '../catalog/access.ts'
import type { AccessControl } from '../catalog/accessControl.ts'
import { completionKey, type Registry } from '../catalog/registry.ts'
import { requestContext } from '../handler/requestContext.ts'
import type { Results } from '../results.ts'
import { unknownPrompt } from './getPrompt.ts'

const MAX_COMPLETIONS = 100

/** completion/complete: suggestions for an argument of a prompt or a variable of a template. */
export function complete(registry: Registry, results: Results, access: AccessControl) {
  return async (call: Call): Promise<string> => {
    const { target, typed, chosen } = readCompletion(call, registry, access)
    const entry = registry.completions.get(completionKey(target))
    const ctx = requestContext(call)
    const values = entry === undefined ? [] : await entry.handler(typed, chosen, ctx)
    const completion = {
      values: values.slice(0, MAX_COMPLETIONS),
      total: values.length,
      hasMore: values.length > MAX_COMPLETIONS,
    }
    return results.complete({ completion }, call.peer, ctx.state.meta)
  }
}

function readCompletion(call: Call, registry: Registry, access: AccessControl) {
  const { ref, argument, context } = call.params
  if (!isObject(ref)) throw new ProtocolError('PARAMS_INVALID', '"params.ref" must be an object.')
  if (!isObject(argument) || typeof argument['name'] !== 'string' || typeof argument['value'] !== 'string') {
    throw new ProtocolError('PARAMS_INVALID', '"params.argument" needs a "name" and a "value".')
  }
  const given = isObject(context) && isObject(context['arguments']) ? context['arguments'] : {}
  const chosen = Object.fromEntries(
    Object.entries(given).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
  )
  const { target, rule, unknown } = readTarget(ref, argument['name'], registry)
  access.assertAllowed(rule, call, unknown)
  return { target, typed: argument['value'], chosen }
}

interface CompletionRef {
  readonly target: CompletionTarget
  readonly rule: AccessRule | undefined
  readonly unknown: () => ProtocolError
}

function readTarget(ref: Json, argument: string, registry: Registry): CompletionRef {
  const { type, name, uri } = ref
  if (type === 'ref/prompt' && typeof name === 'string') {
    const unknown = (): ProtocolError => unknownPrompt(name)
    return { target: { prompt: name, argument }, rule: known(registry.prompts.get(name), unknown).access, unknown }
  }
  if (type === 'ref/resource' && typeof uri === 'string') {
    const entry = registry.templates.get(uri) ?? registry.resources.get(uri)
    const unknown = (): ProtocolError => new ProtocolError('PARAMS_INVALID', 'There is no such resource template.')
    return { target: { template: uri, variable: argument }, rule: known(entry, unknown).access, unknown }
  }
  throw new ProtocolError(
    'PARAMS_INVALID',
    '"params.ref" must be a ref/prompt with a "name" or a ref/resource with a "uri".',
  )
}

function known<T>(entry: T | undefined, unknown: () => ProtocolError): T {
  if (entry === undefined) throw unknown()
  return entry
}
