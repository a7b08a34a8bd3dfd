/**
 * A call on its way to the server that has the tool, prompt or resource, under its name there.
 *
 * | the caller | the server | how |
 * |---|---|---|
 * | takes questions as results | asks by results | relayed, with its state |
 * | takes questions as results | asks in the middle of a call | parked (`parking`) |
 * | is asked in place | either | the rounds are run here, and questions asked on the caller's stream |
 * | is asked in place, and another gateway had its stream | asks in the middle of a call | the rounds of the parked
 * call are run here |
 *
 * A call that another gateway has to serve is forwarded there first (`placement`).
 */
import { CODES, isObject, type Json, RemoteError, unref } from '../../protocol/index.ts'
import { type Call, isLaterRound, type MethodParts } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { inRound } from '../errors.ts'
import { CallState } from './clientState.ts'
import type { BackendTarget } from './contents.ts'
import {
  askerOf,
  mirroredHeaders,
  questionsOr,
  recordedArguments,
  recordedTarget,
  relayedOf,
  runInPlace,
} from './relayedCall.ts'
import { taskModeOf } from './tasks/source.ts'
import type { RelayedTasks } from './tasks/service.ts'
import type { RouteRules } from './rules/routeRules.ts'
import { asRound, plainly, type Relayed, withTasks } from '../links/relayed.ts'
import { ParkedRounds } from '../parking/parkedRounds.ts'
import type { Parking } from '../parking/parking.ts'
import { isReplayable } from '../parking/claim.ts'
import type { Tickets } from '../parking/ticket.ts'
import { Placement } from '../placement/placement.ts'
import type { CallRecorder, RecordedCall } from '../telemetry/calls.ts'

/** Names the server of a result, if that server is stateful. */
const BACKEND_META = 'dev.pannier/backend'

/** Maximum wait for a client that has lost the connection of its response. */
const BACK_WITHIN_MS = 5000

export interface RelayOptions {
  readonly path: string
  readonly parking: Parking
  readonly tickets: Tickets
  readonly recorder: CallRecorder
  readonly tasks: RelayedTasks
  readonly rules: RouteRules
  /** A server's result with the addresses that its resources have on this route. */
  readonly addressed: (result: Json, call: Call, backend: Backend) => Json
}

/** The state and the answers of a round. */
interface Brought {
  readonly requestState: unknown
  readonly inputResponses: Json
}

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
    this.#parked = new ParkedRounds(options.parking, options.tickets, parts)
    this.#placement = new Placement(parts, (inPlace) => runInPlace(parts, this.#parked, inPlace))
  }

  /** Relays a call; returns the text of the result. */
  call(call: Call, target: BackendTarget, params: Json, headers?: Relayed['headers']): Promise<string> {
    const { observer } = call
    if (observer === undefined) return this.#record(call, target, params, headers)
    const subject = { server: target.backend.name, name: target.name, args: params['arguments'] }
    const traced = call.resumed ?? this.#parked.tracedBy(call, subject)
    return observer.opened(traced, () => this.#record(call, target, params, headers))
  }

  #recorded(
    call: Call,
    target: BackendTarget,
    params: Json,
    work: (recorded: RecordedCall) => Promise<string>,
  ): Promise<string> {
    const { recorder } = this.#options
    return recorder.record(call, recordedTarget(call, target), recordedArguments(params), work)
  }

  #record(call: Call, target: BackendTarget, params: Json, headers: Relayed['headers']): Promise<string> {
    return this.#recorded(call, target, params, async (recorded) => {
      const { backend } = target
      await backend.connector.tried
      const state = new CallState(backend, call, this.#placement.newCaller)
      try {
        const answer = await this.#relay({ recorded, target, params, headers, state })
        if (call.channel.isConnected === false) this.#releaseUnseen(call, target, params, answer)
        return answer
      } catch (error) {
        // Questions that were asked in place count as a round.
        throw inRound(error, isLaterRound(call) || recorded.outcome === 'asked')
      }
    })
  }

  /** Releases the questions of a response to a session-era client that has lost its connection and does not come back. */
  #releaseUnseen(call: Call, { backend, name }: BackendTarget, params: Json, answer: string): void {
    const { requestState } = JSON.parse(answer) as Json
    const asked = { ...call, params: { ...call.params, requestState } }
    const look = (): void => {
      if (call.channel.isConnected !== false) return
      void this.#parked.report('disconnected', asked, { server: backend.name, name, args: params['arguments'] })
    }
    if (requestState !== undefined) unref(setTimeout(look, BACK_WITHIN_MS))
  }

  async #relay(relaying: RelayingCall): Promise<string> {
    const { takesInputRequired } = relaying.recorded.call.peer
    // The ticket of a parked call names its owner.
    if (this.#bringsTicket(relaying)) return takesInputRequired ? this.#park(relaying) : this.#resume(relaying)
    const answer = await this.#answerElsewhere(relaying)
    if (answer !== undefined) return answer
    if (!takesInputRequired) return this.#askInPlace(relaying)
    if (relaying.target.backend.era === 'legacy') return this.#park(relaying)
    return this.#parts.results.complete(await this.#send(relaying, relaying.params), relaying.recorded.call.peer)
  }

  async tool(call: Call, found: BackendTarget, args: unknown): Promise<string> {
    const { task: _, ...rest } = call.params
    const named = { name: found.name, ...(args !== undefined && { arguments: args }) }
    const headers = mirroredHeaders(found, args)
    await found.backend.connector.tried
    switch (taskModeOf(call, found)) {
      case 'session':
        return this.#asTask(call, found, { ...call.params, ...named }, headers)
      case 'extension':
        return this.call({ ...call, peer: withTasks(call.peer) }, found, { ...rest, ...named }, headers)
      case 'plain':
        return this.call(plainly(call), found, { ...rest, ...named }, headers)
    }
  }

  /** Whether the call is parked. A server that was never reached from here may be of either era. */
  #bringsTicket({ recorded: { call }, target, params }: RelayingCall): boolean {
    const { backend, name } = target
    const requestState = call.peer.takesInputRequired ? call.params['requestState'] : call.resumed?.own
    if (requestState === undefined) return false
    if (backend.connector.about !== undefined) return backend.era === 'legacy'
    const subject = { server: backend.name, name, args: params['arguments'] }
    return this.#parked.isTicket(asRound(call, { requestState }), subject)
  }

  /** The answer of the gateway that serves this caller; undefined if this one does. */
  #answerElsewhere({ recorded, target, params, state }: RelayingCall): Promise<string | undefined> {
    const { call } = recorded
    const { backend, name, listed } = target
    const forwarded = (result: Json): Json => this.#options.tasks.forwarded(result, call, backend)
    const mayReplay = isReplayable(call, backend, listed)
    const placed = { backend, name, isReplayable: mayReplay, args: params['arguments'], forwarded }
    return this.#placement.forward(recorded, placed, state.caller)
  }

  async #send({ recorded, target, headers, state }: RelayingCall, params: Json, ask?: Relayed['ask']): Promise<Json> {
    const { backend } = target
    const result = await backend.request(relayedOf(recorded, params, { headers, ask, state }))
    recorded.result(result)
    const { tasks, addressed } = this.#options
    const own = addressed(state.result(result), recorded.call, backend)
    return shaped(tasks.shaped(own, recorded.call, backend), recorded.call, backend)
  }

  /** `call`: a round of the call, in the form of a stateless-era client. */
  #park({ recorded, target, params, headers, state }: RelayingCall, call = recorded.call): Promise<string> {
    const { backend, name, listed } = target
    return this.#parked.run({
      call,
      backend,
      name,
      params,
      isReplayable: recorded.call.peer.takesInputRequired && isReplayable(call, backend, listed),
      relayed: relayedOf({ call, trace: recorded.trace }, params, { headers, ask: undefined, state }),
      recorded,
      finish: (result) => shaped(this.#options.addressed(state.result(result), call, backend), call, backend),
      askingMeta: state.askingMeta,
      answerAtPlace: async () => {
        const replayed = { ...target, isReplayable: true }
        return backend.leases ? this.#placement.forward(recorded, replayed, state.caller) : undefined
      },
    })
  }

  /** Asks on the caller's stream. The server's own state is the state of the handler. */
  async #askInPlace(relaying: RelayingCall): Promise<string> {
    const { recorded, target, params } = relaying
    const { call } = recorded
    const { requestState: _, inputResponses: __, ...first } = params
    recorded.isAskedInPlace = true
    const ask = recordedAsk(askerOf(call, target.backend.config.settings.parkSeconds * 1000), recorded)
    return this.#parts.rounds.run<Json>(call, {
      subject: { name: `${target.backend.name} ${target.name}`, args: params },
      invoke: async (ctx) => {
        for (const [key, answer] of Object.entries(ctx.inputResponses)) recorded.round.answered(key, answer)
        return questionsOr(await this.#send(relaying, { ...first, ...broughtTo(target.backend, ctx) }, ask))
      },
      finish: (result) => result,
    })
  }

  /** Resumes a parked call, here or elsewhere, after the gateway with the caller's stream is gone. */
  #resume(relaying: RelayingCall): Promise<string> {
    const { call } = relaying.recorded
    const { backend, name } = relaying.target
    return runInPlace(this.#parts, this.#parked, {
      call,
      server: backend.name,
      name,
      args: relaying.params['arguments'],
      round: async (brought) => JSON.parse(await this.#park(relaying, asRound(call, brought))) as Json,
      finish: (result) => this.#options.tasks.forwarded(result, call, backend),
    })
  }

  /** Requests the call as a task, as session-era clients do. */
  #asTask(call: Call, target: BackendTarget, params: Json, headers: Relayed['headers']): Promise<string> {
    return this.#recorded(call, target, params, async (recorded) => {
      const { backend } = target
      const state = new CallState(backend, call, this.#placement.newCaller)
      const answer = await this.#answerElsewhere({ recorded, target, params, headers, state })
      if (answer !== undefined) return answer
      const asked = isObject(params['task']) ? params : { ...params, task: {} }
      const way = { headers, ask: askerOf(call) ?? askedLater, state }
      const result = state.result(await backend.request(relayedOf(recorded, asked, way)))
      const named = this.#options.tasks.asked(this.#options.addressed(result, call, backend), call, backend)
      return this.#parts.results.complete(shaped(named, call, backend), call.peer)
    })
  }
}

/** Records the questions that a server pushes during the call. */
function recordedAsk(ask: Relayed['ask'], { round }: RecordedCall): Relayed['ask'] {
  if (ask === undefined) return undefined
  return async (request) => {
    round.asked({ question: request })
    const answer = await ask(request)
    round.answered('question', answer)
    return answer
  }
}

/** Refuses a question: a task asks during the request for its result, not during the one that created it. */
function askedLater(): never {
  throw new RemoteError(CODES.INVALID_REQUEST, 'Ask while the result of the task is requested.')
}

/**
 * The state and answers for the server: none in the first round, and none for a session-era server, which has no
 * rounds.
 */
function broughtTo({ era }: Backend, { requestState, inputResponses }: Brought): Json {
  if (era === 'legacy') return {}
  const isAnswered = Object.keys(inputResponses).length > 0
  return { ...(requestState !== undefined && { requestState }), ...(isAnswered && { inputResponses }) }
}

/** Converts a result for this caller. */
function shaped(result: Json, { method, peer }: Call, backend: Backend): Json {
  const { resultType = 'complete' } = result
  const defaults = peer.era === 'modern' && resultType === 'complete' ? REQUIRED.get(method) : undefined
  return marked(defaults === undefined ? result : { ...defaults, ...result }, backend)
}

/** Members that the stateless era requires of results, and that session-era servers may omit. */
const REQUIRED: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['resources/read', { ttlMs: 0, cacheScope: 'private' }],
  ['tools/call', { content: [] }],
])

function marked(result: Json, { name, keepsState }: Backend): Json {
  if (!keepsState) return result
  const { _meta: meta } = result
  return { ...result, _meta: { ...(isObject(meta) ? meta : {}), [BACKEND_META]: { name, stateful: true } } }
}
