/** The calls of one transport, found by the leg that is under way, or by what their caller knows them by. */
import type { RequestId } from '../../protocol/index.ts'
import { isLegId, type RoundCall } from './call.ts'
import { idKey } from '../layer/message.ts'

export class RoundCalls {
  /** With a leg under way, by that. */
  readonly #legs = new Map<RequestId, RoundCall>()
  /** Past their first leg, by the caller's request. */
  readonly #later = new Map<RequestId, RoundCall>()

  get underWay(): readonly RoundCall[] {
    return [...this.#legs.values()]
  }

  get all(): readonly RoundCall[] {
    return [...this.#legs.values(), ...this.#later.values()]
  }

  legSent(call: RoundCall): void {
    this.#legs.set(call.wireKey, call)
  }

  legAnswered(call: RoundCall): void {
    this.#legs.delete(call.wireKey)
  }

  goesOn(call: RoundCall): void {
    this.#later.set(call.callerKey, call)
  }

  byLeg(id: RequestId): RoundCall | undefined {
    return this.#legs.get(idKey(id))
  }

  byCaller(id: RequestId): RoundCall | undefined {
    const key = idKey(id)
    return this.#later.get(key) ?? this.#legs.get(key)
  }

  /** A leg is answered once, and then means nothing to the client any more. */
  isSpent(id: RequestId): boolean {
    return isLegId(id) || this.#later.has(idKey(id))
  }

  forget(call: RoundCall): void {
    call.end()
    if (this.#legs.get(call.wireKey) === call) this.#legs.delete(call.wireKey)
    if (this.#later.size > 0 && this.#later.get(call.callerKey) === call) this.#later.delete(call.callerKey)
  }
}
