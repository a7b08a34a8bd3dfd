/**
 * A call on its way to the server that has the tool, prompt or resource, under the name it has there.
 *
 * | the caller | the server | how |
 * |---|---|---|
 * | takes questions as results | asks by results | passed on, with its state |
 * | takes questions as results | asks in the middle of a call | parked (`parking`) |
 * | is asked in place | either | the rounds are run here, and questions asked on the caller's stream |
 *
 * Before that, a call that another gateway has to serve is forwarded there (`placement`).
 */
import {
  CODES,
  declaresTasks,
  findParamHeaders,
  isObject,
  type Json,
  type ParamHeader,
  paramHeaderValues,
  RemoteError,
} from '../../protocol/index.ts'
import type { Call, MethodParts } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { CallState } from './clientState.ts'
import { Placement } from './placement/placement.ts'
import { askerOf, inputRequired, relayedOf } from './relayedCall.ts'
import { taskModeOf } from './tasks/mode.ts'
import type { RelayedTasks } from './tasks/service.ts'
import { withoutTasks, withTasks } from './tasks/source.ts'
import type { Relayed } from '../links/relayed.ts'
import { ParkedRounds } from '../parking/parkedRounds.ts'
import type { Parking } from '../parking/parking.ts'
import { isReplayable } from '../parking/takeover.ts'
import type { CallRecorder, RecordedCall } from '../telemetry/calls.ts'
import type { CallTarget } from '../telemetry/metrics.ts'

/** What a name of this route is at a server behind it. */
export interface BackendTarget {
  readonly backend: Backend
  readonly name: string
  /** Its definition here, where it is listed. */
  readonly listed?: Json
}

/** Says which server a result came from, where that server keeps something between calls. */
const BACKEND_META = 'dev.pannier/backend'

export interface RelayOptions {
  /** Where the route is served. */
  readonly path: string
  readonly parking: Parking
  readonly recorder: CallRecorder
  readonly tasks: RelayedTasks
}

/** One call, and where it goes. */
interface RelayingCall {
  readonly recorded: RecordedCall
  readonly target: BackendTarget
  readonly params: Json
  readonly headers: Relayed['headers'] | undefined
  readonly state: CallState
}

export class Relay {
  readonly #options: RelayOptions
  readonly #parts: MethodParts
  readonly #parked: ParkedRounds
  readonly #placement: Placement

  constructor(options: RelayOptions, parts: MethodParts) {
    this.#options = options
    this.#parts = parts
    this.#parked = new ParkedRounds(options.parking, parts)
    this.#placement = new Placement(parts, options.path)
  }

  /** Gives the text of the result. */
  call(call: Call, target: BackendTarget, params: Json, headers?: Relayed['headers']): Promise<string> {
    return this.#options.recorder.record(call, recordedTarget(call, target), async (recorded) => {
      const { backend } = target
      await backend.tried
      const state = new CallState(backend, call, this.#placement.newCaller)
      const relaying: RelayingCall = { recorded, target, params, headers, state }
      const { takesInputRequired } = call.peer
      // The ticket of a call that waits says itself where.
      const isTicket = takesInputRequired && backend.era === 'legacy' && call.params['requestState'] !== undefined
      const answer = isTicket ? undefined : await this.#answerElsewhere(relaying)
      if (answer !== undefined) return answer
      if (!takesInputRequired) return this.#askInPlace(relaying)
      return backend.era === 'legacy' ? this.#park(relaying) : this.#passOn(relaying)
    })
  }

  async tool(call: Call, found: BackendTarget, args: unknown): Promise<string> {
    const { task: _, ...rest } = call.params
    const named = { name: found.name, ...(args !== undefined && { arguments: args }) }
    const headers = paramHeaderValues(mirroredIn(found.listed), args ?? {})
    await found.backend.tried
    switch (taskModeOf(call, found)) {
      case 'session':
        return this.#asTask(call, found, { ...call.params, ...named }, headers)
      case 'extension':
        return this.call({ ...call, peer: withTasks(call.peer) }, found, { ...rest, ...named }, headers)
      case 'plain':
        return this.call(plainly(call), found, { ...rest, ...named }, headers)
    }
  }

  /**
   * Which of several targets a round belongs to, that of the present configuration first; undefined where none is. A ticket is for a call that waits
   * here, which only servers that ask in place have; any other state is for a server that has given it.
   */
  async begunAt(call: Call, targets: readonly BackendTarget[], args: unknown): Promise<BackendTarget | undefined> {
    for (const target of targets) {
      const { backend } = target
      if (backend.about === undefined) continue // it has begun nothing
      if ((await this.#parked.isTicket(call, target, args)) === (backend.era === 'legacy')) return target
    }
    return undefined
  }

  /** The answer of the gateway that serves this caller; undefined where this one does. */
  #answerElsewhere({ recorded, target, state }: RelayingCall): Promise<string | undefined> {
    const { backend, name } = target
    const forwarded = (result: Json): Json => this.#options.tasks.forwarded(result, recorded.call, backend)
    return this.#placement.forward(recorded, { backend, name, forwarded }, state.caller)
  }

  async #send({ recorded, target, headers, state }: RelayingCall, params: Json, ask?: Relayed['ask']): Promise<Json> {
    const { backend } = target
    const result = await backend.request(relayedOf(recorded, params, { headers, ask, state }))
    recorded.result(result)
    return shaped(this.#options.tasks.shaped(state.result(result), recorded.call, backend), recorded.call, backend)
  }

  async #passOn(relaying: RelayingCall): Promise<string> {
    return this.#parts.results.complete(await this.#send(relaying, relaying.params), relaying.recorded.call.peer)
  }

  #park({ recorded, target, params, headers, state }: RelayingCall): Promise<string> {
    const { call } = recorded
    const { backend, name, listed } = target
    return this.#parked.run({
      call,
      backend,
      name,
      params,
      isReplayable: isReplayable(call, backend, listed),
      relayed: relayedOf(recorded, params, { headers, ask: undefined, state }),
      recorded,
      finish: (result) => shaped(state.result(result), call, backend),
      introduce: (to) => state.introduce(to),
      answerAtPlace: async () => (backend.leases ? this.#placement.forward(recorded, target, state.caller) : undefined),
    })
  }

  /** The server's own state is that of the handler, and its questions are asked in place. */
  #askInPlace(relaying: RelayingCall): Promise<string> {
    const { recorded, target, params } = relaying
    const { call } = recorded
    const ask = askerOf(call, target.backend.config.settings.parkSeconds * 1000)
    return this.#parts.rounds.run<Json>(call, {
      subject: { name: `${target.backend.name} ${target.name}`, args: params },
      invoke: async (ctx) => {
        const asked = { requestState: ctx.requestState, inputResponses: ctx.inputResponses }
        const result = await this.#send(relaying, withDefined(params, asked), ask)
        return result['resultType'] === 'input_required' ? inputRequired(result) : result
      },
      finish: (result) => result,
    })
  }

  /** The server makes a task of the call, as servers of the session era are asked to. */
  #asTask(call: Call, target: BackendTarget, params: Json, headers: Relayed['headers']): Promise<string> {
    return this.#options.recorder.record(call, recordedTarget(call, target), async (recorded) => {
      const { backend } = target
      const state = new CallState(backend, call, this.#placement.newCaller)
      const answer = await this.#answerElsewhere({ recorded, target, params, headers, state })
      if (answer !== undefined) return answer
      const asked = isObject(params['task']) ? params : { ...params, task: {} }
      const way = { headers, ask: askerOf(call) ?? askedLater, state }
      const result = state.result(await backend.request(relayedOf(recorded, asked, way)))
      const named = this.#options.tasks.asked(result, call, backend)
      return this.#parts.results.complete(shaped(named, call, backend), call.peer)
    })
  }
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

/** A schema that breaks the rules for mirrored parameters mirrors none. */
export function mirroredIn(listed: Json | undefined): readonly ParamHeader[] {
  try {
    return isObject(listed?.['inputSchema']) ? findParamHeaders(listed['inputSchema']) : []
  } catch {
    return []
  }
}
