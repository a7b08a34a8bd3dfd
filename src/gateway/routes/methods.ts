/** The methods of a route: they find the target of a name at a server behind the gateway, and relay the call there. */
import { assertParamHeaders, isObject, type Json, ProtocolError } from '../../protocol/index.ts'
import { type Call, CONTINUE_TOOL, type HandlerMethods, isLaterRound, type MethodParts } from '../../server/internal.ts'
import { CALL_TOOL, DESCRIBE_TOOL, FIND_TOOL, readToolCall, toolError, type ToolSearch } from '../catalog/index.ts'
import type { BackendTarget } from './contents.ts'
import type { RouteDirectory } from './directory.ts'
import { mirroredIn } from './relayedCall.ts'
import { noTool, type RuledCalls, type RuledCallsOptions } from './rules/ruledCalls.ts'

type Look = (directory: RouteDirectory) => BackendTarget | undefined

export function routeMethods(options: RuledCallsOptions, parts: MethodParts, ruled: RuledCalls): HandlerMethods {
  const { results } = parts
  const { relay } = ruled

  const find = (call: Call, look: Look): BackendTarget | undefined => look(directoryFor(options, call))

  /** The tool that `call_tool` names. For a caller with its own lists, these decide whether the tool exists. */
  const findNamed = async (
    call: Call,
    named: { name: string; arguments: Json },
  ): Promise<BackendTarget | undefined> => {
    const look: Look = (directory) => directory.tool(named.name)
    const found = find(call, look)
    if (found === undefined || found.listed !== undefined || isRound(call)) return found
    const directory = await options.own.refreshed(call, found.backend)
    return directory === undefined ? found : directory.listedTool(named.name)
  }

  /** The result of a call that waited; undefined if a server behind the gateway is to continue it. */
  const continued = async (call: Call): Promise<string | undefined> => {
    const result = await options.questions?.continued(call, call.params['arguments'])
    return result && results.complete(result, call.peer)
  }

  const searchOf = (call: Call): ToolSearch | undefined => options.own.visible(call).search

  /** Returns undefined for a direct call of another tool. */
  const useSearch = async ({ find: search, describe }: ToolSearch, name: string, call: Call) => {
    const { arguments: args } = call.params
    if (name === FIND_TOOL) return results.complete(await search(args), call.peer)
    if (name === DESCRIBE_TOOL) return results.complete(await describe(args), call.peer)
    if (name !== CALL_TOOL) return undefined
    const named = readToolCall(args)
    if ('fault' in named) return results.complete(toolError(named.fault), call.peer)
    const found = await findNamed(call, named)
    if (found !== undefined) return ruled.call(call, found, named)
    // The tool was not found. The caller's search reports that with similar names. Its lists may have been refreshed.
    return results.complete(await (searchOf(call)?.describe ?? describe)({ name: named.name }), call.peer)
  }

  return {
    callTool: async (call) => {
      const name = textOf(call.params, 'name')
      const waited = name === CONTINUE_TOOL ? await continued(call) : undefined
      if (waited !== undefined) return waited
      const search = searchOf(call)
      const used = search && (await useSearch(search, name, call))
      if (used !== undefined) return used
      const { arguments: args } = call.params
      const found = find(call, (directory) => directory.tool(name))
      if (found === undefined) throw noTool(name)
      const given = args ?? {}
      if (call.header !== undefined && call.peer.era === 'modern' && isObject(given))
        assertParamHeaders(mirroredIn(found.listed), given, call.header)
      return ruled.call(call, found, { name, arguments: args })
    },
    getPrompt: async (call) => {
      const name = textOf(call.params, 'name')
      const found = find(call, (directory) => directory.prompt(name))
      if (found === undefined) throw new ProtocolError('PARAMS_INVALID', `There is no prompt "${name.slice(0, 100)}".`)
      ruled.assertOpen(call, found)
      return relay.call(call, found, { ...call.params, name: found.name })
    },
    readResource: async (call) => {
      const uri = textOf(call.params, 'uri')
      const found = find(call, (directory) => directory.resource(uri))
      if (found === undefined) throw new ProtocolError('RESOURCE_UNKNOWN', 'There is no such resource.', { uri })
      ruled.assertOpen(call, found)
      return relay.call(call, found, { ...call.params, uri: found.name })
    },
    complete: async (call) => {
      const { ref } = call.params
      const found = isObject(ref) ? referred(directoryFor(options, call), ref) : undefined
      if (found === undefined || !isObject(ref))
        throw new ProtocolError('PARAMS_INVALID', '"params.ref" names no prompt and no resource template.')
      ruled.assertOpen(call, found)
      const known = ref['type'] === 'ref/prompt' ? { ...ref, name: found.name } : { ...ref, uri: found.name }
      return relay.call(call, found, { ...call.params, ref: known })
    },
  }
}

/**
 * Whether it is a later round of a client that takes questions as results: it brings answers, or the state that came
 * with the questions.
 */
function isRound(call: Call): boolean {
  return call.peer.takesInputRequired && isLaterRound(call)
}

function directoryFor({ own, directory }: RuledCallsOptions, call: Call): RouteDirectory {
  return own.directory(call) ?? directory
}

function referred(directory: RouteDirectory, { type, name, uri }: Json): BackendTarget | undefined {
  if (type === 'ref/prompt' && typeof name === 'string') return directory.prompt(name)
  if (type === 'ref/resource' && typeof uri === 'string') return directory.template(uri) ?? directory.resource(uri)
  return undefined
}

function textOf(params: Json, field: string): string {
  const value = params[field]
  if (typeof value === 'string') return value
  throw new ProtocolError('PARAMS_INVALID', `"params.${field}" must be a string.`)
}
