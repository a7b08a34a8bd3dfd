/** The methods of a route: they find the target of a name at a server behind the gateway, and relay the call there. */
import { assertParamHeaders, isObject, type Json, ProtocolError } from '../../protocol/index.ts'
import { type Call, type HandlerMethods, isLaterRound, type MethodParts } from '../../server/internal.ts'
import { whyAbsent } from '../backends/connector.ts'
import { CALL_TOOL, DESCRIBE_TOOL, FIND_TOOL, readToolCall, toolError, type ToolSearch } from '../catalog/index.ts'
import { notThere } from '../errors.ts'
import type { RuleDecision } from '../rules/index.ts'
import type { BackendTarget } from './contents.ts'
import type { RouteDirectory } from './directory.ts'
import type { OwnLists } from './ownLists.ts'
import { recordedTarget } from './relayedCall.ts'
import { mirroredIn, Relay, type RelayOptions } from './relay.ts'

export interface RouteMethodsOptions extends RelayOptions {
  /** The common directory. */
  readonly directory: RouteDirectory
  /** The directories of callers, if they differ from the common one. */
  readonly own: Pick<OwnLists, 'directory' | 'refreshed' | 'visible'>
}

type Look = (directory: RouteDirectory) => BackendTarget | undefined

export function routeMethods(options: RouteMethodsOptions, parts: MethodParts): HandlerMethods {
  const relay = new Relay(options, parts)
  const { results } = parts

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

  const { rules, recorder } = options

  /** Calls a tool if no rule denies it. Otherwise the result says why, so that a model can read it. */
  const callRuled = async (
    call: Call,
    target: BackendTarget,
    { name, arguments: args }: { name: string; arguments: unknown },
  ): Promise<string> => {
    if (rules.isEmpty) return relay.tool(call, target, args)
    const found = target.listed === undefined ? await listedAs(call, target, name) : target
    const decision = rules.ofCall(call.principal, found, args)
    report(call, found, decision, args)
    if (decision.outcome === 'allow') return relay.tool(call, found, args)
    return results.complete(toolError(deniedText(decision)), call.peer)
  }

  /** Rules judge the definition of a tool, so none is called that its server does not list. */
  const listedAs = async (call: Call, target: BackendTarget, name: string): Promise<BackendTarget> => {
    const { backend } = target
    await backend.connector.tried
    const own = await options.own.refreshed(call, backend)
    const found = (own ?? options.directory).tool(name)
    if (found?.listed !== undefined && found.backend === backend) return found
    const why = backend.connector.about === undefined ? whyAbsent(backend.connector.condition) : undefined
    throw why === undefined ? noTool(name) : notThere(backend.name, why)
  }

  const report = (call: Call, target: BackendTarget, { dryRun, ...decision }: RuleDecision, args?: unknown): void => {
    const recorded = recordedTarget(call, target)
    for (const [each, isDenied] of [[decision, true] as const, [dryRun, false] as const])
      if (each !== undefined && each.outcome !== 'allow')
        recorder.decided(call, recorded, isObject(args) ? args : undefined, {
          isDenied,
          rule: each.rule,
          failure: each.failure,
        })
  }

  /** Throws if a rule denies the server to this caller, and with it prompts and resources. */
  const assertOpen = (call: Call, target: BackendTarget): void => {
    if (rules.isEmpty) return
    const decision = rules.ofServer(call.principal, target.backend)
    if (decision.outcome !== 'deny') return
    report(call, target, decision)
    throw new ProtocolError('PARAMS_INVALID', deniedText(decision))
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
    if (found !== undefined) return callRuled(call, found, named)
    // The search of the caller, whose lists may have been refreshed, reports that there is none, with similar names.
    return results.complete(await (searchOf(call)?.describe ?? describe)({ name: named.name }), call.peer)
  }

  return {
    callTool: async (call) => {
      const name = textOf(call.params, 'name')
      const search = searchOf(call)
      const used = search && (await useSearch(search, name, call))
      if (used !== undefined) return used
      const { arguments: args } = call.params
      const found = find(call, (directory) => directory.tool(name))
      if (found === undefined) throw noTool(name)
      const given = args ?? {}
      if (call.header !== undefined && call.peer.era === 'modern' && isObject(given))
        assertParamHeaders(mirroredIn(found.listed), given, call.header)
      return callRuled(call, found, { name, arguments: args })
    },
    getPrompt: async (call) => {
      const name = textOf(call.params, 'name')
      const found = find(call, (directory) => directory.prompt(name))
      if (found === undefined) throw new ProtocolError('PARAMS_INVALID', `There is no prompt "${name.slice(0, 100)}".`)
      assertOpen(call, found)
      return relay.call(call, found, { ...call.params, name: found.name })
    },
    readResource: async (call) => {
      const uri = textOf(call.params, 'uri')
      const found = find(call, (directory) => directory.resource(uri))
      if (found === undefined) throw new ProtocolError('RESOURCE_UNKNOWN', 'There is no such resource.', { uri })
      assertOpen(call, found)
      return relay.call(call, found, { ...call.params, uri: found.name })
    },
    complete: async (call) => {
      const { ref } = call.params
      const found = isObject(ref) ? referred(directoryFor(options, call), ref) : undefined
      if (found === undefined || !isObject(ref))
        throw new ProtocolError('PARAMS_INVALID', '"params.ref" names no prompt and no resource template.')
      assertOpen(call, found)
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

function directoryFor({ own, directory }: RouteMethodsOptions, call: Call): RouteDirectory {
  return own.directory(call) ?? directory
}

function referred(directory: RouteDirectory, { type, name, uri }: Json): BackendTarget | undefined {
  if (type === 'ref/prompt' && typeof name === 'string') return directory.prompt(name)
  if (type === 'ref/resource' && typeof uri === 'string') return directory.template(uri) ?? directory.resource(uri)
  return undefined
}

function noTool(name: string): ProtocolError {
  return new ProtocolError('PARAMS_INVALID', `There is no tool "${name.slice(0, 100)}".`)
}

function deniedText({ rule, reason }: RuleDecision): string {
  return `Not allowed: ${reason}${rule === undefined || reason.includes(rule) ? '' : ` (${rule})`}`
}

function textOf(params: Json, field: string): string {
  const value = params[field]
  if (typeof value === 'string') return value
  throw new ProtocolError('PARAMS_INVALID', `"params.${field}" must be a string.`)
}
