/** The methods of a route: calls go to the server that has the tool, prompt or resource, under the name it has there. */
import {
  assertParamHeaders,
  CODES,
  declaresTasks,
  findParamHeaders,
  isObject,
  type Json,
  type ParamHeader,
  paramHeaderValues,
  ProtocolError,
  RemoteError,
} from '../../protocol/index.ts'
import type { Call, HandlerMethods, MethodParts } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { CallState } from './clientState.ts'
import type { PlacedTarget } from './callForwarding.ts'
import { Placement } from './placement.ts'
import { askerOf, inputRequired, relayedOf } from './relayedCall.ts'
import { taskModeOf } from './tasks/mode.ts'
import type { RelayedTasks } from './tasks/service.ts'
import { withoutTasks, withTasks } from './tasks/source.ts'
import type { Relayed } from '../links/relayed.ts'
import { ParkedRounds } from '../parking/parkedRounds.ts'
import type { Parking } from '../parking/parking.ts'
import type { CallRecorder, RecordedCall } from '../telemetry/calls.ts'
import type { CallTarget } from '../telemetry/metrics.ts'
import { CALL_TOOL, DESCRIBE_TOOL, FIND_TOOL, readToolCall, toolError, type ToolSearch } from '../catalog/index.ts'

/** What a name of this route is at a server behind it. */
export interface BackendTarget {
  readonly backend: Backend
  readonly name: string
  /** Its definition here, where it is listed. */
  readonly listed?: Json
}

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

/** Says which server a result came from, where that server keeps something between calls. */
const BACKEND_META = 'dev.pannier/backend'

export interface RelayOptions {
  /** Where the route is served. */
  readonly path: string
  /** What everyone is listed. */
  readonly directory: Directory
  readonly own: OwnDirectories
  readonly parking: Parking
  readonly recorder: CallRecorder
  readonly tasks: RelayedTasks
}

export function relayMethods(options: RelayOptions, parts: MethodParts): HandlerMethods {
  const { path, parking, recorder, tasks } = options
  const { rounds, results } = parts
  const parked = new ParkedRounds(parking, parts)
  const placement = new Placement(parts, path)

  const relay = (call: Call, target: BackendTarget, params: Json, headers?: Relayed['headers']) =>
    recorder.record(call, recordedTarget(call, target), (recorded) => relayRecorded(recorded, target, params, headers))

  const placed = (call: Call, { backend, name }: BackendTarget): PlacedTarget => ({
    backend,
    name,
    forwarded: (result) => tasks.forwarded(result, call, backend),
  })

  const relayRecorded = async (
    recorded: RecordedCall,
    target: BackendTarget,
    params: Json,
    headers?: Relayed['headers'],
  ) => {
    const { call } = recorded
    const { backend, name } = target
    await backend.tried
    // The ticket of a call that waits says itself where.
    const isTicket = call.peer.takesInputRequired && backend.asksInPlace && call.params['requestState'] !== undefined
    const state = new CallState(backend, call, placement.newCaller)
    const answer = isTicket ? undefined : await placement.play(recorded, placed(call, target), state.caller)
    if (answer !== undefined) return answer
    const send = async (sent: Json, ask?: Relayed['ask']): Promise<Json> => {
      const result = await backend.request(relayedOf(recorded, sent, { headers, ask, state }))
      recorded.result(result)
      return shaped(tasks.shaped(state.result(result), call, backend), call, backend)
    }
    if (call.peer.takesInputRequired && !backend.asksInPlace) return results.complete(await send(params), call.peer)
    if (call.peer.takesInputRequired) {
      const relayed = relayedOf(recorded, params, { headers, ask: undefined, state })
      const finish = (result: Json): Json => shaped(state.result(result), call, backend)
      return parked.play({
        call,
        backend,
        name,
        params,
        isReplayable: isReplayable(call, target),
        relayed,
        recorded,
        finish,
        introduce: (to) => state.introduce(to),
        answerAtPlace: async () => (backend.leases ? placement.play(recorded, target, state.caller) : undefined),
      })
    }
    // The server's own state is that of the handler, and its questions are asked in place.
    return rounds.play<Json>(call, {
      subject: { name: `${backend.name} ${name}`, args: params },
      invoke: async (ctx) => {
        const asked = { requestState: ctx.requestState, inputResponses: ctx.inputResponses }
        const result = await send(withDefined(params, asked), askerOf(call))
        return result['resultType'] === 'input_required' ? inputRequired(result) : result
      },
      finish: (result) => result,
    })
  }

  /** The server makes a task of the call, as servers of the session era are asked to. */
  const relayAsTask = (call: Call, found: BackendTarget, params: Json, headers: Relayed['headers']) =>
    recorder.record(call, recordedTarget(call, found), async (recorded) => {
      const { backend } = found
      const state = new CallState(backend, call, placement.newCaller)
      const answer = await placement.play(recorded, placed(call, found), state.caller)
      if (answer !== undefined) return answer
      const asked = isObject(params['task']) ? params : { ...params, task: {} }
      const way = { headers, ask: askerOf(call) ?? askedLater, state }
      const result = state.result(await backend.request(relayedOf(recorded, asked, way)))
      return results.complete(shaped(tasks.asked(result, call, backend), call, backend), call.peer)
    })

  const relayTool = async (call: Call, found: BackendTarget, args: unknown) => {
    const { task: _, ...rest } = call.params
    const named = { name: found.name, ...(args !== undefined && { arguments: args }) }
    const headers = paramHeaderValues(mirroredIn(found.listed), args ?? {})
    await found.backend.tried
    switch (taskModeOf(call, found)) {
      case 'session':
        return relayAsTask(call, found, { ...call.params, ...named }, headers)
      case 'extension':
        return relay({ ...call, peer: withTasks(call.peer) }, found, { ...rest, ...named }, headers)
      case 'plain':
        return relay(plainly(call), found, { ...rest, ...named }, headers)
    }
  }

  /** Undefined for a call of a tool by its own name. */
  const useSearch = (directory: Directory, { find, describe }: ToolSearch, name: string, call: Call) => {
    const { arguments: args } = call.params
    if (name === FIND_TOOL) return results.complete(find(args), call.peer)
    if (name === DESCRIBE_TOOL) return results.complete(describe(args), call.peer)
    if (name !== CALL_TOOL) return undefined
    const named = readToolCall(args)
    if ('fault' in named) return results.complete(toolError(named.fault), call.peer)
    const found = directory.tool(named.name)
    if (found !== undefined) return relayTool(call, found, named.arguments)
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
      return relayTool(call, found, args)
    },
    getPrompt: async (call) => {
      const name = textOf(call.params, 'name')
      const found = directoryFor(options, call).prompt(name)
      if (found === undefined) throw new ProtocolError('PARAMS_INVALID', `There is no prompt "${name.slice(0, 100)}".`)
      return relay(call, found, { ...call.params, name: found.name })
    },
    readResource: async (call) => {
      const uri = textOf(call.params, 'uri')
      const found = directoryFor(options, call).resource(uri)
      if (found === undefined) throw new ProtocolError('RESOURCE_UNKNOWN', 'There is no such resource.', { uri })
      return relay(call, found, { ...call.params, uri: found.name })
    },
    complete: async (call) => {
      const { ref } = call.params
      const found = isObject(ref) ? referred(directoryFor(options, call), ref) : undefined
      if (found === undefined || !isObject(ref))
        throw new ProtocolError('PARAMS_INVALID', '"params.ref" names no prompt and no resource template.')
      const known = ref['type'] === 'ref/prompt' ? { ...ref, name: found.name } : { ...ref, uri: found.name }
      return relay(call, found, { ...call.params, ref: known })
    },
  }
}

function directoryFor({ own, directory }: RelayOptions, call: Call): Directory {
  return own.directory(call) ?? directory
}

function referred(directory: Directory, { type, name, uri }: Json): BackendTarget | undefined {
  if (type === 'ref/prompt' && typeof name === 'string') return directory.prompt(name)
  if (type === 'ref/resource' && typeof uri === 'string') return directory.template(uri) ?? directory.resource(uri)
  return undefined
}

/** A client of the session era that asks for no task cannot be given one. */
function plainly(call: Call): Call {
  return call.peer.era === 'modern' || !declaresTasks(call.peer.capabilities)
    ? call
    : { ...call, peer: withoutTasks(call.peer) }
}

/** A task asks on the request for its result, and not on the one that made it. */
function askedLater(): never {
  throw new RemoteError(CODES.INVALID_REQUEST, 'Ask while the result of the task is requested.')
}

/** Prompts and resources are read; of a tool its definition says whether it may run twice, or its server's entry. */
function isReplayable({ method }: Call, { backend, listed }: BackendTarget): boolean {
  if (method !== 'tools/call' || backend.config.settings.replay) return true
  const annotations = listed?.['annotations']
  return isObject(annotations) && (annotations['readOnlyHint'] === true || annotations['idempotentHint'] === true)
}

function withDefined(params: Json, more: Json): Json {
  return { ...params, ...Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined)) }
}

/** A result as this caller takes it. */
function shaped(result: Json, { method, peer }: Call, backend: Backend): Json {
  const { resultType = 'complete' } = result
  const defaults = peer.era === 'modern' && resultType === 'complete' ? REQUIRED.get(method) : undefined
  return marked(defaults === undefined ? result : { ...defaults, ...result }, backend)
}

/** What the stateless era requires of results. Servers of the session era do not say it, or were not told to. */
const REQUIRED: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['resources/read', { ttlMs: 0, cacheScope: 'private' }],
  ['tools/call', { content: [] }],
])

function marked(result: Json, { name, keepsState }: Backend): Json {
  if (!keepsState) return result
  const { _meta: meta } = result
  return { ...result, _meta: { ...(isObject(meta) ? meta : {}), [BACKEND_META]: { name, stateful: true } } }
}

/** Addresses of resources may hold secrets, so that none is told. */
function recordedTarget({ method }: Call, { backend, name, listed }: BackendTarget): CallTarget {
  const isNamed = method === 'tools/call' || method === 'prompts/get'
  return { server: backend.name, name: isNamed ? name : undefined, isListed: listed !== undefined }
}

function textOf(params: Json, field: string): string {
  const value = params[field]
  if (typeof value === 'string') return value
  throw new ProtocolError('PARAMS_INVALID', `"params.${field}" must be a string.`)
}

/** A schema that breaks the rules for mirrored parameters mirrors none. */
function mirroredIn(listed: Json | undefined): readonly ParamHeader[] {
  try {
    return isObject(listed?.['inputSchema']) ? findParamHeaders(listed['inputSchema']) : []
  } catch {
    return []
  }
}
