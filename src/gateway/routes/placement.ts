/**
 * Which gateway serves a caller of a server that keeps something for each of them: all of a caller's calls must come to one
 * session or process, and that is in one gateway.
 *
 * - A session of a client belongs to the gateway that began it; its id says which.
 * - A principal belongs to one of the gateways that know each other, which all choose alike (rendezvous hashing); so do all
 *   callers without a name together.
 * - A client that keeps state for the gateway has its name from the gateway that it first came to, and belongs there: the
 *   name is one that is chosen so.
 */
import { randomUUID } from 'node:crypto'
import type { Json } from '../../protocol/index.ts'
import type { Call, Instance, MethodParts } from '../../server/internal.ts'
import { digestOf } from '../../state/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { callerOf, clientCaller } from '../backends/callers.ts'
import { callLost } from '../errors.ts'
import { resultOf } from '../response.ts'
import { paramsFor } from '../links/relayed.ts'
import { inputRequired } from './relayedCall.ts'
import type { WatchedCall } from '../telemetry/calls.ts'

/** Each of them belongs here with the chance of one in all gateways. */
const MAX_TRIES = 1000
const ENDED = 'the gateway that serves this caller ended'

export class Placement {
  readonly #parts: MethodParts

  constructor(parts: MethodParts) {
    this.#parts = parts
  }

  /** Undefined where the call is served here. `kept`: who calls, where only the client's state tells that. */
  ownerOf({ isForwarded, peer, principal }: Call, backend: Backend, kept: string | undefined): Instance | undefined {
    if (isForwarded || backend.isShared) return undefined
    const { self, peers } = this.#parts.replicas
    const { begunBy } = peer
    const hasBegun = principal === undefined && begunBy !== undefined && !peers.isLost(begunBy.id)
    const owner = hasBegun ? begunBy : this.#chosen(callerOf({ principal, peer, caller: kept }))
    return owner?.id === self.id || owner?.url === undefined ? undefined : owner
  }

  /** A name for a client that keeps it: one that belongs here. */
  readonly newCaller = (): string => {
    const { self } = this.#parts.replicas
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const caller = randomUUID()
      const owner = this.#chosen(clientCaller(caller))
      if (owner === undefined || owner.id === self.id) return caller
    }
    return randomUUID() // then its calls are forwarded
  }

  #chosen(caller: string): Instance | undefined {
    const { self, peers } = this.#parts.replicas
    return chosen([self, ...peers.known()], caller)
  }

  /** Has a caller's gateway answer; gives the text of the result, or undefined where that gateway is gone. */
  async play(watched: WatchedCall, { backend, name }: { backend: Backend; name: string }, owner: Instance) {
    const { call } = watched
    if (call.peer.era === 'modern') {
      const result = await this.#forward(call, owner, backend, name)
      if (result !== undefined) watched.saw(result)
      return result && JSON.stringify(result)
    }
    // A client of the session era is asked here, on the stream of its call.
    let isGone = false
    const text = await this.#parts.rounds.play<Json>(call, {
      subject: { name: `${backend.name} ${name}`, args: call.params },
      invoke: async ({ requestState, inputResponses }) => {
        const round = requestState === undefined ? {} : { requestState, inputResponses }
        const params = paramsFor('modern', { ...call, params: { ...call.params, ...round }, ask: unused })
        const result = await this.#forward({ ...call, params }, owner, backend, name)
        isGone = result === undefined && requestState === undefined
        if (result === undefined && !isGone) throw callLost(backend.name, name, ENDED)
        if (result !== undefined) watched.saw(result)
        return result?.['resultType'] === 'input_required' ? inputRequired(result) : (result ?? {})
      },
      finish: (result) => result,
    })
    return isGone ? undefined : text
  }

  async #forward(call: Call, owner: Instance, backend: Backend, name: string): Promise<Json | undefined> {
    const { session } = call.peer
    const forwarded = await this.#parts.replicas.calls.forward(owner, { ...call, ...(session && { session }) })
    if (forwarded.kind === 'gone') {
      if (forwarded.wasReached) throw callLost(backend.name, name, ENDED)
      return undefined
    }
    return resultOf(forwarded.response)
  }
}

/** By their addresses, which are the same for all routes of a gateway, and for the next process there. */
function chosen(instances: readonly Instance[], caller: string): Instance | undefined {
  let best: { instance: Instance; weight: string } | undefined
  for (const instance of instances) {
    if (instance.url === undefined) continue
    const weight = digestOf([new URL(instance.url).origin, caller])
    if (best === undefined || weight > best.weight) best = { instance, weight }
  }
  return best?.instance
}

/** That it is there says that the caller can be asked. */
function unused(): Promise<Json> {
  return Promise.reject(new TypeError('The other gateway asks.'))
}
