/** The methods of a route: what callers name is found at a server behind the gateway, and the call relayed there. */
import { assertParamHeaders, isObject, type Json, ProtocolError } from '../../protocol/index.ts'
import type { Call, HandlerMethods, MethodParts } from '../../server/internal.ts'
import { CALL_TOOL, DESCRIBE_TOOL, FIND_TOOL, readToolCall, toolError, type ToolSearch } from '../catalog/index.ts'
import { type BackendTarget, mirroredIn, Relay, type RelayOptions } from './relay.ts'

/** Finds what callers name. Undefined where there is no such thing. */
export interface Directory {
  tool(name: string): BackendTarget | undefined
  prompt(name: string): BackendTarget | undefined
  resource(uri: string): BackendTarget | undefined
  template(uriTemplate: string): BackendTarget | undefined
  /** Defined where tools are found by searching. */
  readonly search: ToolSearch | undefined
}

/** What a caller is listed, where that differs from what everyone is; undefined where it does not. */
export interface OwnDirectories {
  directory(call: Call): Directory | undefined
}

export interface RouteMethodsOptions extends RelayOptions {
  /** What everyone is listed. */
  readonly directory: Directory
  readonly own: OwnDirectories
}

export function routeMethods(options: RouteMethodsOptions, parts: MethodParts): HandlerMethods {
  const relay = new Relay(options, parts)
  const { results } = parts

  /** Undefined for a call of a tool by its own name. */
  const useSearch = (directory: Directory, { find, describe }: ToolSearch, name: string, call: Call) => {
    const { arguments: args } = call.params
    if (name === FIND_TOOL) return results.complete(find(args), call.peer)
    if (name === DESCRIBE_TOOL) return results.complete(describe(args), call.peer)
    if (name !== CALL_TOOL) return undefined
    const named = readToolCall(args)
    if ('fault' in named) return results.complete(toolError(named.fault), call.peer)
    const found = directory.tool(named.name)
    if (found !== undefined) return relay.tool(call, found, named.arguments)
    return results.complete(describe({ name: named.name }), call.peer) // says that there is none, and what is near
  }

  return {
    callTool: async (call) => {
      const name = textOf(call.params, 'name')
      const directory = directoryFor(options, call)
      const used = directory.search && useSearch(directory, directory.search, name, call)
      if (used !== undefined) return used
      const found = directory.tool(name)
      if (found === undefined) throw new ProtocolError('PARAMS_INVALID', `There is no tool "${name.slice(0, 100)}".`)
      const { arguments: args } = call.params
      const given = args ?? {}
      if (call.header !== undefined && call.peer.era === 'modern' && isObject(given))
        assertParamHeaders(mirroredIn(found.listed), given, call.header)
      return relay.tool(call, found, args)
    },
    getPrompt: async (call) => {
      const name = textOf(call.params, 'name')
      const found = directoryFor(options, call).prompt(name)
      if (found === undefined) throw new ProtocolError('PARAMS_INVALID', `There is no prompt "${name.slice(0, 100)}".`)
      return relay.call(call, found, { ...call.params, name: found.name })
    },
    readResource: async (call) => {
      const uri = textOf(call.params, 'uri')
      const found = directoryFor(options, call).resource(uri)
      if (found === undefined) throw new ProtocolError('RESOURCE_UNKNOWN', 'There is no such resource.', { uri })
      return relay.call(call, found, { ...call.params, uri: found.name })
    },
    complete: async (call) => {
      const { ref } = call.params
      const found = isObject(ref) ? referred(directoryFor(options, call), ref) : undefined
      if (found === undefined || !isObject(ref))
        throw new ProtocolError('PARAMS_INVALID', '"params.ref" names no prompt and no resource template.')
      const known = ref['type'] === 'ref/prompt' ? { ...ref, name: found.name } : { ...ref, uri: found.name }
      return relay.call(call, found, { ...call.params, ref: known })
    },
  }
}

function directoryFor({ own, directory }: RouteMethodsOptions, call: Call): Directory {
  return own.directory(call) ?? directory
}

function referred(directory: Directory, { type, name, uri }: Json): BackendTarget | undefined {
  if (type === 'ref/prompt' && typeof name === 'string') return directory.prompt(name)
  if (type === 'ref/resource' && typeof uri === 'string') return directory.template(uri) ?? directory.resource(uri)
  return undefined
}

function textOf(params: Json, field: string): string {
  const value = params[field]
  if (typeof value === 'string') return value
  throw new ProtocolError('PARAMS_INVALID', `"params.${field}" must be a string.`)
}
