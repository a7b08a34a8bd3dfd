/**
 * The gateway that serves a caller of a stateful server: all calls of a caller must reach one session or process, which
 * one gateway has.
 *
 * - With PostgreSQL, the gateway that has claimed the caller (leasedPlacement.ts). Otherwise:
 * - A client's session belongs to the gateway that began it; its id names that gateway.
 * - A principal belongs to one of the gateways that know each other, chosen by rendezvous hashing; so do all anonymous
 *   callers together.
 * - A client that keeps state for the gateway gets its name from the first gateway it reaches, and belongs there: the
 *   name is chosen to hash to that gateway.
 */
import { randomUUID } from 'node:crypto'
import type { Instance } from '../../cluster/index.ts'
import type { Call, MethodParts } from '../../server/internal.ts'
import { digestOf } from '../../state/internal.ts'
import { callerMoved, callLost } from '../errors.ts'
import { callerOf, clientCaller, leasedCaller } from '../links/callers.ts'
import { CallForwarding, type PlacedTarget, type PlacingCall, type RunInPlace, SILENT } from './forwarding.ts'
import { LeasedPlacement } from './leasedPlacement.ts'

/** Maximum number of tries for a name that hashes to this gateway. The chance is one in the number of gateways. */
const MAX_TRIES = 1000

export class Placement {
  readonly #parts: MethodParts
  readonly #forwarding: CallForwarding
  readonly #leased: LeasedPlacement

  /** `runInPlace` runs the rounds of callers that are asked on the stream of their call. */
  constructor(parts: MethodParts, runInPlace: RunInPlace) {
    this.#parts = parts
    this.#forwarding = new CallForwarding(parts, runInPlace)
    this.#leased = new LeasedPlacement(parts, this.#forwarding)
  }

  /**
   * Forwards a call to the gateway that serves the caller; returns the text of the result, or undefined if the call is
   * served here. `kept`: the caller's name, if only the client's state identifies it.
   */
  async forward(placing: PlacingCall, target: PlacedTarget, kept: string | undefined): Promise<string | undefined> {
    const { call } = placing
    const { backend } = target
    const isNew = call.params['requestState'] === undefined
    // A stopping gateway starts no forwarded call: the sender starts it, or the caller's next gateway.
    if (call.forwardedBy && isNew && this.#parts.scope.members.isStopping)
      throw backend.leases?.unreachable() ?? callerMoved(backend.name)
    if (backend.isShared) return undefined
    const caller = { ...call, caller: kept }
    if (backend.leases !== undefined)
      return this.#leased.forward(placing, target, backend.leases, leasedCaller(caller, backend.declaresOnLinks))
    // A call is sent once, so an instance that never answered must not get it: its silence would lose the call.
    if (call.peer.begunBy !== undefined) await this.#parts.scope.members.greetingOf(call.peer.begunBy.id)
    const owner = placeOf(this.#parts, call, callerOf(caller))
    const answer = owner && (await this.#forwarding.answer(placing, target, owner))
    if (typeof answer !== 'object') return answer
    if (answer.kind === 'silent') throw callLost(backend.name, target.name, SILENT)
    return undefined
  }

  /** A new name for a client, which hashes to this gateway. */
  readonly newCaller = (): string => {
    const { self } = this.#parts.scope
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const caller = randomUUID()
      const owner = rendezvous(this.#parts, clientCaller(caller))
      if (owner === undefined || owner.id === self.id) return caller
    }
    return randomUUID() // calls under this name are forwarded
  }
}

/** The gateway that serves a caller, without PostgreSQL; undefined if it is this one. */
export function placeOf(
  parts: Pick<MethodParts, 'scope'>,
  { forwardedBy, peer, principal }: Call,
  caller: string,
): Instance | undefined {
  if (forwardedBy) return undefined
  const { self, members } = parts.scope
  const { begunBy } = peer
  const hasBegun =
    principal === undefined && begunBy !== undefined && !members.isLost(begunBy.id) && !members.isLeaving(begunBy.id)
  const owner = hasBegun ? begunBy : rendezvous(parts, caller)
  return owner?.id === self.id || owner?.url === undefined ? undefined : owner
}

/**
 * Rendezvous hashing: the gateway with the greatest digest of its address and the caller. The next process at an
 * address gets the same callers.
 */
function rendezvous({ scope }: Pick<MethodParts, 'scope'>, caller: string): Instance | undefined {
  let best: { instance: Instance; weight: string } | undefined
  for (const instance of [scope.self, ...scope.members.knownToStay()]) {
    if (instance.url === undefined) continue
    const weight = digestOf([new URL(instance.url).origin, caller])
    if (best === undefined || weight > best.weight) best = { instance, weight }
  }
  return best?.instance
}
