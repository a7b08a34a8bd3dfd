/**
 * Which gateway serves a caller of a server that keeps something for each of them: all of a caller's calls must come to one
 * session or process, and that is in one gateway.
 *
 * - Where gateways have PostgreSQL, the one that has taken the caller (leasedPlacement.ts). Else:
 * - A session of a client belongs to the gateway that began it; its id says which.
 * - A principal belongs to one of the gateways that know each other, which all choose alike (rendezvous hashing); so do all
 *   callers without a name together.
 * - A client that keeps state for the gateway has its name from the gateway that it first came to, and belongs there: the
 *   name is one that is chosen so.
 */
import { randomUUID } from 'node:crypto'
import type { Call, Instance, MethodParts } from '../../../server/internal.ts'
import { digestOf } from '../../../state/internal.ts'
import { callerOf, clientCaller } from '../../backends/callers.ts'
import { callLost } from '../../errors.ts'
import { CallForwarding, type PlacedTarget, SILENT } from './callForwarding.ts'
import { LeasedPlacement } from './leasedPlacement.ts'
import type { RecordedCall } from '../../telemetry/calls.ts'

/** Each of them belongs here with the chance of one in all gateways. */
const MAX_TRIES = 1000

export class Placement {
  readonly #parts: MethodParts
  readonly #forwarding: CallForwarding

  readonly #leased: LeasedPlacement

  /** `path`: that of the route, which is the same at all gateways. */
  constructor(parts: MethodParts, path: string) {
    this.#parts = parts
    this.#forwarding = new CallForwarding(parts)
    this.#leased = new LeasedPlacement(parts, path)
  }

  /**
   * Has the gateway answer that serves the caller; gives the text of the result, or undefined where the call is served here.
   * `kept`: who calls, where only the client's state tells that.
   */
  async forward(recorded: RecordedCall, target: PlacedTarget, kept: string | undefined): Promise<string | undefined> {
    const { call } = recorded
    const { backend } = target
    if (backend.isShared) return undefined
    const caller = callerOf({ ...call, caller: kept })
    if (backend.leases !== undefined) return this.#leased.forward(recorded, target, backend.leases, caller)
    const owner = placeOf(this.#parts, call, caller)
    const answer = owner && (await this.#forwarding.answer(recorded, target, owner))
    if (typeof answer !== 'object') return answer
    if (answer.kind === 'silent') throw callLost(backend.name, target.name, SILENT)
    return undefined
  }

  /** A name for a client that keeps it: one that belongs here. */
  readonly newCaller = (): string => {
    const { self } = this.#parts.replicas
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const caller = randomUUID()
      const owner = rendezvous(this.#parts, clientCaller(caller))
      if (owner === undefined || owner.id === self.id) return caller
    }
    return randomUUID() // then its calls are forwarded
  }
}

/** The gateway that serves a caller, without PostgreSQL; undefined where that is this one. */
export function placeOf(
  parts: Pick<MethodParts, 'replicas'>,
  { isForwarded, peer, principal }: Call,
  caller: string,
): Instance | undefined {
  if (isForwarded) return undefined
  const { self, peers } = parts.replicas
  const { begunBy } = peer
  const hasBegun = principal === undefined && begunBy !== undefined && !peers.isLost(begunBy.id)
  const owner = hasBegun ? begunBy : rendezvous(parts, caller)
  return owner?.id === self.id || owner?.url === undefined ? undefined : owner
}

/**
 * Rendezvous hashing: the gateway with the greatest digest of its address and the caller. Addresses are the same for all
 * routes of a gateway, and for the next process there.
 */
function rendezvous({ replicas }: Pick<MethodParts, 'replicas'>, caller: string): Instance | undefined {
  let best: { instance: Instance; weight: string } | undefined
  for (const instance of [replicas.self, ...replicas.peers.known()]) {
    if (instance.url === undefined) continue
    const weight = digestOf([new URL(instance.url).origin, caller])
    if (best === undefined || weight > best.weight) best = { instance, weight }
  }
  return best?.instance
}
