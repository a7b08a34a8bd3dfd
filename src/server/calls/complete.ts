import { isObject, type Json, ProtocolError } from '../../protocol/index.ts'
import type { Call } from '../call.ts'
import type { CompletionTarget } from '../catalog/definitions.ts'
import { completionKey, type Registry } from '../catalog/registry.ts'
import type { Results } from '../results.ts'

const MAX_COMPLETIONS = 100

/** completion/complete: suggestions for an argument of a prompt or a variable of a template. */
export function complete(registry: Registry, results: Results) {
  return async (call: Call): Promise<string> => {
    const { target, typed, chosen } = readCompletion(call.params, registry)
    const entry = registry.completions.get(completionKey(target))
    const values = entry === undefined ? [] : await entry.handler(typed, chosen)
    const completion = {
      values: values.slice(0, MAX_COMPLETIONS),
      total: values.length,
      hasMore: values.length > MAX_COMPLETIONS,
    }
    return results.complete({ completion }, call.peer)
  }
}

function readCompletion(params: Json, registry: Registry) {
  const { ref, argument, context } = params
  if (!isObject(ref)) throw new ProtocolError('PARAMS_INVALID', '"params.ref" must be an object.')
  if (!isObject(argument) || typeof argument['name'] !== 'string' || typeof argument['value'] !== 'string') {
    throw new ProtocolError('PARAMS_INVALID', '"params.argument" needs a "name" and a "value".')
  }
  const given = isObject(context) && isObject(context['arguments']) ? context['arguments'] : {}
  const chosen = Object.fromEntries(
    Object.entries(given).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
  )
  return { target: readTarget(ref, argument['name'], registry), typed: argument['value'], chosen }
}

function readTarget(ref: Json, argument: string, registry: Registry): CompletionTarget {
  const { type, name, uri } = ref
  if (type === 'ref/prompt' && typeof name === 'string') {
    if (!registry.prompts.has(name)) throw new ProtocolError('PARAMS_INVALID', `There is no prompt "${name}".`)
    return { prompt: name, argument }
  }
  if (type === 'ref/resource' && typeof uri === 'string') {
    if (!registry.templates.has(uri) && !registry.resources.has(uri)) {
      throw new ProtocolError('PARAMS_INVALID', 'There is no such resource template.')
    }
    return { template: uri, variable: argument }
  }
  throw new ProtocolError(
    'PARAMS_INVALID',
    '"params.ref" must be a ref/prompt with a "name" or a ref/resource with a "uri".',
  )
}
