/**
 * Which gateway serves a caller, by what PostgreSQL says: the one that has the caller, or whoever takes them first.
 *
 * - A gateway that has ended loses its callers at once. One that is silent, because it is frozen or cut off, loses them when
 *   its lease is over: until then it may be serving them.
 * - A call that a silent gateway may have got is sent to no other gateway. It is begun here once the lease of that one is
 *   over, after which that one does not begin it.
 * - While PostgreSQL cannot be asked, the other gateways are asked instead, and a call is forwarded to the one that says it
 *   serves the caller. That decides nothing: a gateway begins a call only under its own lease, and nobody is taken over.
 */
import { sleep } from '../../../protocol/index.ts'
import type { Call, Instance, MethodParts } from '../../../server/internal.ts'
import type { PlacedGateway } from '../../../postgres/internal.ts'
import { BackendError, callLost } from '../../errors.ts'
import type { CallerPlace, ServerLeases } from '../../leases/serverLeases.ts'
import type { RecordedCall } from '../../telemetry/calls.ts'
import { CallForwarding, type PlacedTarget, SILENT, type ForwardFailure } from './callForwarding.ts'

/** How often a caller may move while one of their calls looks for them. */
const MAX_MOVES = 5
const LOOK_AGAIN_MS = 200
/** A gateway that is being stopped gives its callers up when their calls have ended. */
const PATIENCE_MS = 60_000
/** One that cannot ask PostgreSQL, while this one can, loses its lease. */
const UNPLACED_PATIENCE_MS = 4000

/** A gateway said that it serves the caller. */
interface PlaceByWord {
  readonly kind: 'by word'
  readonly instance: Instance
}

/** A call that was sent to other gateways. */
interface SentCall {
  /** One of them did not answer, and may have begun it. */
  isSilent: boolean
}

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
    const sent: SentCall = { isSilent: false }
    try {
      return await this.#forward(recorded, target, leases, caller, sent)
    } catch (error) {
      const isUnplaced = error instanceof BackendError && error.reason === 'CALLER_UNPLACED'
      throw isUnplaced && sent.isSilent ? callLost(target.backend.name, target.name, SILENT) : error
    }
  }

  async #forward(
    recorded: RecordedCall,
    target: PlacedTarget,
    leases: ServerLeases,
    caller: string,
    sent: SentCall,
  ): Promise<string | undefined> {
    for (let moves = 0; moves < MAX_MOVES; moves++) {
      const place = await this.#find(leases, caller, recorded.call)
      if (place.kind === 'here') return undefined
      if (recorded.call.isForwarded) throw leases.moved()
      const answer =
        place.kind === 'elsewhere'
          ? await this.#answerAt(place.gateway, recorded, target)
          : await this.#forwarding.answer(recorded, target, place.instance)
      if (typeof answer === 'string') return answer
      leases.forget(caller)
      if (answer.kind === 'silent') sent.isSilent = true
      if (place.kind === 'elsewhere') await this.#replace(place.gateway, answer, leases, caller, recorded)
      else if (answer.kind === 'silent') break
    }
    throw leases.unreachable()
  }

  /** Where the caller is by what PostgreSQL says, else by what the other gateways say. */
  async #find(leases: ServerLeases, caller: string, { isForwarded }: Call): Promise<CallerPlace | PlaceByWord> {
    try {
      return await leases.find(caller)
    } catch (error) {
      const addresses = leases.others.flatMap(({ address }) => address ?? [])
      const urls = addresses.map((address) => this.#urlAt(address))
      const instance = isForwarded ? undefined : await this.#parts.replicas.whoServes(leases.rowOf(caller), urls)
      if (instance === undefined) throw error
      return { kind: 'by word', instance }
    }
  }

  /** This route at another gateway. */
  #urlAt(address: string): string {
    return new URL(this.#path, address).href
  }

  async #answerAt(
    { address }: PlacedGateway,
    recorded: RecordedCall,
    target: PlacedTarget,
  ): Promise<string | ForwardFailure> {
    if (address === undefined) return { kind: 'unsent' }
    const url = this.#urlAt(address)
    // Whoever had the address of this gateway before is gone.
    if (url === this.#parts.replicas.self.url) return { kind: 'gone' }
    const { seeker } = this.#parts.replicas
    const owner = await seeker.find(url)
    if (owner === 'nobody') return { kind: 'gone' }
    if (owner === undefined) return { kind: 'unsent' }
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
  ): Promise<void> {
    if (kind === 'moved') return
    const left = new AbortController()
    call.channel.onCancel(() => left.abort())
    const until = performance.now() + (kind === 'unplaced' ? UNPLACED_PATIENCE_MS : PATIENCE_MS)
    for (let leftMs = Number.POSITIVE_INFINITY; performance.now() < until; ) {
      const taken = await leases.takeFrom(gateway, caller, kind === 'gone').catch((error: unknown) => {
        if (kind === 'silent') throw error
        return { kind: 'unknown' } as const // somebody else may serve the caller by now
      })
      if (taken.kind !== 'leased') return
      const isRenewed = taken.leftMs > leftMs
      if (isRenewed && kind === 'unplaced') return
      // It is there, and may begin what it was sent.
      if (isRenewed && kind !== 'gone') throw leases.unreachable()
      leftMs = taken.leftMs
      await sleep(LOOK_AGAIN_MS, left.signal).catch(() => Promise.reject(leases.unreachable()))
      leases.forget(caller)
      const place = await leases.find(caller)
      if (place.kind === 'here' || place.gateway.id !== gateway.id) return
    }
    throw leases.unreachable()
  }
}
