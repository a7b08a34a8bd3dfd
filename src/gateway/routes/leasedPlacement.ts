/**
 * Which gateway serves a caller, by what PostgreSQL says: the one that has the caller, or whoever takes them first.
 *
 * - A gateway that has ended loses its callers at once. One that is silent, because it is frozen or cut off, loses them when
 *   its lease is over: until then it may be serving them.
 * - A call that a silent gateway may have got is sent to no other gateway. It is begun here once the lease of that one is
 *   over, after which that one does not begin it.
 */
import { sleep } from '../../protocol/index.ts'
import type { MethodParts } from '../../server/internal.ts'
import type { PlacedGateway } from '../../postgres/internal.ts'
import { callLost } from '../errors.ts'
import type { ServerLeases } from '../leases/serverLeases.ts'
import type { RecordedCall } from '../telemetry/calls.ts'
import { CallForwarding, type PlacedTarget, SILENT, type ForwardFailure } from './callForwarding.ts'

/** How often a caller may move while one of their calls looks for them. */
const MAX_MOVES = 5
const LOOK_AGAIN_MS = 200
/** A gateway that is being stopped gives its callers up when their calls have ended. */
const PATIENCE_MS = 60_000

export class LeasedPlacement {
  readonly #parts: MethodParts
  readonly #path: string
  readonly #forwarding: CallForwarding

  /** `path`: that of the route, which is the same at all gateways. */
  constructor(parts: MethodParts, path: string) {
    this.#parts = parts
    this.#path = path
    this.#forwarding = new CallForwarding(parts)
  }

  /** Has a caller's gateway answer; gives the text of the result, or undefined where the call is served here. */
  async forward(
    recorded: RecordedCall,
    target: PlacedTarget,
    leases: ServerLeases,
    caller: string,
  ): Promise<string | undefined> {
    for (let moves = 0; moves < MAX_MOVES; moves++) {
      const place = await leases.find(caller)
      if (place.kind === 'here') return undefined
      if (recorded.call.isForwarded) throw leases.moved()
      const answer = await this.#answerAt(place.gateway, recorded, target)
      if (typeof answer === 'string') return answer
      leases.forget(caller)
      if (answer.kind !== 'moved') await this.#replace(place.gateway, answer, leases, caller, recorded, target)
    }
    throw leases.unreachable()
  }

  async #answerAt(
    { address }: PlacedGateway,
    recorded: RecordedCall,
    target: PlacedTarget,
  ): Promise<string | ForwardFailure> {
    if (address === undefined) return { kind: 'silent' }
    const url = new URL(this.#path, address).href
    // Whoever had the address of this gateway before is gone.
    if (url === this.#parts.replicas.self.url) return { kind: 'gone' }
    const { seeker } = this.#parts.replicas
    const owner = await seeker.find(url)
    if (owner === 'nobody') return { kind: 'gone' }
    if (owner === undefined) return { kind: 'silent' }
    const answer = await this.#forwarding.answer(recorded, target, owner)
    if (typeof answer === 'string' || answer.kind !== 'gone') return answer
    // Who was known at the address is gone; the caller may be with the next process there.
    return { kind: (await seeker.find(url)) === 'nobody' ? 'gone' : 'moved' }
  }

  /** Takes the caller, as soon as that may be, unless the call is given up. */
  async #replace(
    gateway: PlacedGateway,
    { kind }: ForwardFailure,
    leases: ServerLeases,
    caller: string,
    { call }: RecordedCall,
    { backend, name }: PlacedTarget,
  ): Promise<void> {
    const left = new AbortController()
    call.channel.onCancel(() => left.abort())
    const until = performance.now() + PATIENCE_MS
    for (let leftMs = Number.POSITIVE_INFINITY; performance.now() < until; ) {
      const taken = await leases.takeFrom(gateway, caller, kind === 'gone')
      if (taken.kind === 'taken') return
      // Its lease was renewed meanwhile, so that it is there, and may begin what it was sent.
      if (kind === 'silent' && taken.leftMs > leftMs) throw callLost(backend.name, name, SILENT)
      leftMs = taken.leftMs
      await sleep(LOOK_AGAIN_MS, left.signal).catch(() => Promise.reject(leases.unreachable()))
      leases.forget(caller)
      const place = await leases.find(caller)
      if (place.kind === 'here' || place.gateway.id !== gateway.id) return
    }
    throw leases.unreachable()
  }
}
