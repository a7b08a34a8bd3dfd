/**
 * The gateway that serves a caller, by the leases in PostgreSQL: the one that has claimed the caller, or the first to
 * do so.
 *
 * - A gateway that has ended loses its callers at once. One that is silent, because it is frozen or cut off, loses them
 *   when its lease expires: until then it may be serving them.
 * - A call that a silent gateway may have received is lost, even if that gateway releases the caller or its lease expires: it
 *   may have run. A replayable call starts here once the lease has expired.
 * - While PostgreSQL is down, calls are forwarded to the gateway that reports to serve the caller. The report decides
 *   nothing: a gateway starts a call only under its own lease, and no caller is claimed.
 */
import { sleep } from '../../protocol/index.ts'
import type { Instance } from '../../cluster/index.ts'
import type { Call, MethodParts } from '../../server/internal.ts'
import type { PlacedGateway } from '../../postgres/internal.ts'
import { clusterUrl } from '../cluster.ts'
import { BackendError, callLost } from '../errors.ts'
import { type CallForwarding, ForwardFailure, type PlacedTarget, type PlacingCall, SILENT } from './forwarding.ts'
import type { CallerPlace, ServerLeases } from './serverLeases.ts'

/** Maximum number of moves of a caller during the search of one call. */
const MAX_MOVES = 5
const LOOK_AGAIN_MS = 200
/** Maximum wait for a stopping gateway, which releases its callers when their calls have ended. */
const PATIENCE_MS = 60_000
/** Maximum wait for a gateway that cannot reach PostgreSQL while this one can: it loses its lease. */
const UNPLACED_PATIENCE_MS = 4000

/** The place of a caller as its owner reports it. */
interface ReportedPlace {
  readonly kind: 'reported'
  readonly instance: Instance
}

interface SentCall {
  /** Whether a gateway gave no answer and may have started the call, which is replayable. */
  isSilent: boolean
}

export class LeasedPlacement {
  readonly #parts: MethodParts
  readonly #forwarding: CallForwarding

  constructor(parts: MethodParts, forwarding: CallForwarding) {
    this.#parts = parts
    this.#forwarding = forwarding
  }

  /**
   * Forwards a call to the caller's gateway; returns the text of the result, or undefined if the call is served here.
   */
  async forward(
    placing: PlacingCall,
    target: PlacedTarget,
    leases: ServerLeases,
    caller: string,
  ): Promise<string | undefined> {
    const sent: SentCall = { isSilent: false }
    try {
      return await this.#forward(placing, target, leases, caller, sent)
    } catch (error) {
      const isUnplaced = error instanceof BackendError && error.reason === 'CALLER_UNPLACED'
      throw isUnplaced && sent.isSilent ? callLost(target.backend.name, target.name, SILENT) : error
    }
  }

  async #forward(
    placing: PlacingCall,
    target: PlacedTarget,
    leases: ServerLeases,
    caller: string,
    sent: SentCall,
  ): Promise<string | undefined> {
    for (let moves = 0; moves < MAX_MOVES; moves++) {
      const place = await this.#find(leases, caller, placing.call)
      if (place.kind === 'here') return undefined
      if (placing.call.forwardedBy) throw leases.moved()
      const answer =
        place.kind === 'elsewhere'
          ? await this.#answerAt(place.owner, placing, target)
          : await this.#forwarding.answer(placing, target, place.instance)
      if (typeof answer === 'string') return answer
      leases.forget(caller)
      if (answer.kind === 'silent') {
        if (!target.isReplayable) throw callLost(target.backend.name, target.name, SILENT)
        sent.isSilent = true
      }
      if (place.kind === 'elsewhere') await this.#replace(place.owner, answer, leases, caller, placing)
      else if (answer.kind === 'silent') break
    }
    throw leases.unreachable()
  }

  /** The place of the caller by PostgreSQL, else by the reports of the other gateways. */
  async #find(leases: ServerLeases, caller: string, { forwardedBy }: Call): Promise<CallerPlace | ReportedPlace> {
    try {
      return await leases.find(caller)
    } catch (error) {
      const urls = leases.otherAddresses.map(clusterUrl)
      const instance = forwardedBy ? undefined : await this.#parts.scope.whoOwnsAt(urls, 'caller', leases.keyOf(caller))
      if (instance === undefined) throw error
      return { kind: 'reported', instance }
    }
  }

  async #answerAt(
    { address }: PlacedGateway,
    placing: PlacingCall,
    target: PlacedTarget,
  ): Promise<string | ForwardFailure> {
    if (address === undefined) return new ForwardFailure('unsent')
    const url = clusterUrl(address)
    // The address is this gateway's own, so the process that had it before is gone.
    if (url === this.#parts.scope.self.url) return new ForwardFailure('gone')
    const { discovery } = this.#parts.scope
    const owner = await discovery.find(url)
    if (owner === 'nobody') return new ForwardFailure('gone')
    if (owner === undefined) return new ForwardFailure('unsent')
    const answer = await this.#forwarding.answer(placing, target, owner)
    if (typeof answer === 'string' || answer.kind !== 'gone') return answer
    // The known process is gone; another process at its address may serve the caller.
    return new ForwardFailure((await discovery.find(url)) === 'nobody' ? 'gone' : 'moved')
  }

  /** Claims the caller as soon as that is allowed, unless the call is cancelled. */
  async #replace(
    gateway: PlacedGateway,
    { kind }: ForwardFailure,
    leases: ServerLeases,
    caller: string,
    { call }: PlacingCall,
  ): Promise<void> {
    if (kind === 'moved') return
    const left = new AbortController()
    call.channel.onCancel(() => left.abort())
    const until = performance.now() + (kind === 'unplaced' ? UNPLACED_PATIENCE_MS : PATIENCE_MS)
    for (let leftMs = Number.POSITIVE_INFINITY; performance.now() < until; ) {
      const claim = await leases.claimFrom(gateway, caller, kind === 'gone').catch((error: unknown) => {
        if (kind === 'silent') throw error
        return { kind: 'unknown' } as const // another gateway may serve the caller by now
      })
      if (claim.kind !== 'leased') return
      const isRenewed = claim.leftMs > leftMs
      if (isRenewed && kind === 'unplaced') return
      // A renewed lease: the gateway is alive, and may start what it received. A stopping one that received nothing
      // will soon release the caller.
      const isReleased = kind === 'gone' || (kind === 'unsent' && claim.isStopping)
      if (isRenewed && !isReleased) throw leases.unreachable()
      leftMs = claim.leftMs
      await sleep(LOOK_AGAIN_MS, left.signal).catch(() => Promise.reject(leases.unreachable()))
      leases.forget(caller)
      const place = await leases.find(caller)
      if (place.kind === 'here' || place.owner.id !== gateway.id) return
    }
    throw leases.unreachable()
  }
}
