/** Rounds of stateless callers with session-era servers: the server waits in the middle of its call. */
import { randomUUID } from 'node:crypto'
import type { Json } from '../../protocol/index.ts'
import type { Instance } from '../../cluster/index.ts'
import { type Call, type DetachableContext, InputRequired, type MethodParts } from '../../server/internal.ts'
import { digestOf } from '../../state/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { quotaCaller } from '../backends/callers.ts'
import { forwardable } from '../links/relayed.ts'
import { BackendError, callLost, inRound, isBackendGone } from '../errors.ts'
import { resultOf } from '../response.ts'
import { ParkedCall, type ParkedOutcome, type ParkedWay, type RoundChannel, type ClaimedCall } from './parkedCall.ts'
import type { Parked, Parking } from './parking.ts'
import { assertReplayable, claimParked, evictedWith, lostWith, type ReplayableCall, claimedCallOf } from './claim.ts'
import { readTicket, type ParkTicket, writeTicket } from './ticket.ts'

/** A call whose server may ask. */
export interface ParkableCall extends ReplayableCall {
  readonly call: Call
  readonly params: Json
  /** Records the outcome of the round. */
  readonly recorded: { result(result: Json): void; asked(): void }
  /** Stores the caller's name in the client's state. */
  readonly introduce: (session: DetachableContext['state']['session']) => void
  /** The answer of the gateway that has the caller's lease; undefined if this one has it, or there are no leases. */
  readonly answerAtPlace: () => Promise<string | undefined>
  /** Converts the result for this caller. */
  readonly finish: (result: Json) => Json
}

const TAKEN_WITHIN_MS = 1000
const LOOK_AGAIN_MS = 20
const SERVER_ENDED = 'the server ended, or its connection broke'
const REPEATED = 'A server ended in the middle of a call that may run twice. The call begins anew.'

export class ParkedRounds {
  readonly #parking: Parking
  readonly #parts: MethodParts

  constructor(parking: Parking, parts: MethodParts) {
    this.#parking = parking
    this.#parts = parts
  }

  /** Whether a request brings the ticket of a call of this server. */
  async isTicket(call: Call, target: ParkedTarget, args: unknown): Promise<boolean> {
    return (await ticketOf(this.#parts, call, target, args)) !== undefined
  }

  /** Returns the text of the result. A round of a call that another process owns is answered there. */
  async run(asking: ParkableCall): Promise<string> {
    const { rounds } = this.#parts
    const { call, backend, name, params, finish } = asking
    const subject = subjectOf(backend, name, params['arguments'])
    const resumed = await rounds.open(call, subject)
    const ticket = resumed.own === undefined ? undefined : readTicket(resumed.own)
    const isElsewhere = ticket !== undefined && !this.#isHere(ticket)
    const answer = isElsewhere ? await this.#answerElsewhere(asking, ticket) : undefined
    if (answer !== undefined) return answer
    const invoke = (ctx: DetachableContext): Promise<Json | InputRequired> =>
      this.#round(asking, ctx, this.#parked(asking, ticket, ctx.inputResponses))
    return rounds.run<Json>({ ...call, resumed }, { subject, invoke, finish })
  }

  #isHere({ owner, parked }: ParkTicket): boolean {
    return owner.id === this.#parts.scope.self.id || owner.id === this.#parking.find(parked)?.claimedFrom
  }

  /** The call of this round, and its outcome. Another round may have claimed the call meanwhile. */
  #parked(asking: ParkableCall, ticket: ParkTicket | undefined, responses: Json): RunningRound {
    const channel = channelOf(asking.call, this.#parts)
    if (ticket !== undefined && (this.#isHere(ticket) || this.#hasTaken(ticket))) {
      const parked = this.#resume(asking, ticket)
      return { parked, outcome: parked.round(channel, { ...ticket, responses }) }
    }
    const parked = ticket === undefined ? this.#newParked(asking) : this.#resumeLost(asking, ticket, responses)
    const outcome = parked.begin(channel, senderOf(asking))
    const forget = this.#parts.calls.onCancelled(parked.id, () => parked.cancel())
    void parked.whenEnded().then(forget)
    return { parked, outcome }
  }

  async #round(asking: ParkableCall, ctx: DetachableContext, round: RunningRound): Promise<Json | InputRequired> {
    const { backend, name, recorded, introduce } = asking
    const { parked } = round
    const outcome = await round.outcome.catch((error: unknown) => {
      this.#parking.leave(parked)
      throw parked.isLost(error) ? callLost(backend.name, name, SERVER_ENDED) : inRound(error, parked.hasRepeated)
    })
    if (outcome.kind === 'asked') {
      recorded.asked()
      introduce(ctx.state.session)
      return this.#ask(asking, parked, outcome)
    }
    recorded.result(outcome.result)
    return outcome.result
  }

  #resume(asking: ParkableCall, ticket: ParkTicket): ParkedCall {
    const parked = this.#parking.resume(ticket.parked)
    if (parked !== undefined) return parked
    throw this.#parking.hasEvicted(ticket.parked) ? evictedWith(asking) : lostWith(asking, ticket)
  }

  /**
   * The answer of the call's owner; undefined if the call continues here. When the owner is gone, the first process to
   * claim the call resumes it, and the others forward their rounds there.
   */
  async #answerElsewhere(asking: ParkableCall, ticket: ParkTicket): Promise<string | undefined> {
    const gone = new Set<string>()
    let { owner } = ticket
    while (!gone.has(owner.id)) {
      const answer = await this.#forward(asking, owner)
      if (answer !== undefined) return answer
      gone.add(owner.id)
      assertReplayable(asking, ticket)
      const placed = await asking.answerAtPlace()
      if (placed !== undefined) return placed
      const claimant = await claimParked(asking, ticket, gone, this.#parts)
      if (claimant === 'fresh') return undefined
      if (claimant.id === this.#parts.scope.self.id) return this.#untilTaken(asking, ticket)
      owner = claimant
    }
    throw lostWith(asking, ticket)
  }

  /**
   * Waits for another round that has just claimed the call for this process. Throws if that was long ago and the call
   * is over.
   */
  async #untilTaken(asking: ParkableCall, ticket: ParkTicket): Promise<undefined> {
    for (let waitedMs = 0; !this.#hasTaken(ticket); waitedMs += LOOK_AGAIN_MS) {
      if (waitedMs >= TAKEN_WITHIN_MS) throw lostWith(asking, ticket)
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
    }
  }

  /** Whether this process has claimed the call. Its ticket may name an owner before the last. */
  #hasTaken({ parked }: ParkTicket): boolean {
    return this.#parking.find(parked)?.claimedFrom !== undefined
  }

  /** Resumes a call whose owner is gone: runs it again with the answers so far, if it is replayable. */
  #resumeLost(asking: ParkableCall, ticket: ParkTicket, responses: Json): ParkedCall {
    const claimed = claimedCallOf(asking, ticket, responses)
    const taken = this.#newParked(asking, ticket.parked, claimed)
    this.#parking.enter(taken, parkedBy(asking, ticket.generation, claimed.answers))
    return taken
  }

  #newParked(
    { backend, name, isReplayable }: ParkableCall,
    id: string = randomUUID(),
    claimed?: ClaimedCall,
  ): ParkedCall {
    const { name: server } = backend
    // A server that was down in the first place has not started the call.
    const mayRepeat = (error: unknown, attempt: number): boolean =>
      isReplayable && isBackendGone(error) && (attempt > 1 || !isDown(error))
    const onRepeat = (): void => this.#parts.logger().info({ server, name }, REPEATED)
    return new ParkedCall(id, { server, mayRepeat, onRepeat, ...(claimed && { claimed }) })
  }

  #ask(asking: ParkableCall, parked: ParkedCall, outcome: AskingOutcome): InputRequired {
    const { requests, answers, generation } = outcome
    const until = this.#parking.keep(parked, parkedBy(asking, generation, [[...requests], answers]))
    const questions = Object.fromEntries(Array.from(requests, ([key, request]) => [key, digestOf(request)]))
    const { self } = this.#parts.scope
    return new InputRequired(
      requests,
      writeTicket({ owner: self, parked: parked.id, generation, questions, answers, until }),
    )
  }

  /** Forwards the round; undefined if the owner is gone. */
  async #forward({ call, recorded }: ParkableCall, owner: Instance): Promise<string | undefined> {
    const forwarded = await this.#parts.calls.forward(owner, forwardable(call))
    if (forwarded.kind !== 'answered') return undefined
    const result = resultOf(forwarded.response)
    recorded.result(result)
    return JSON.stringify(result)
  }
}

type ParkedTarget = Pick<ParkableCall, 'backend' | 'name'>

/** Cancels the parked call of this ticket at its server, here or in another process. */
export async function cancelParked(parts: MethodParts, call: Call, target: ParkedTarget, args: unknown): Promise<void> {
  const { owner, parked } = (await ticketOf(parts, call, target, args)) ?? {}
  const { calls, scope } = parts
  if (owner === undefined || parked === undefined) return // a stateless-era server, which keeps no call
  if (owner.id === scope.self.id) calls.cancelled(parked)
  else await calls.cancel(owner, parked)
}

/** The ticket of a request; undefined if its state is none. */
async function ticketOf(
  { rounds }: MethodParts,
  call: Call,
  { backend, name }: ParkedTarget,
  args: unknown,
): Promise<ParkTicket | undefined> {
  try {
    const { own } = await rounds.open(call, subjectOf(backend, name, args))
    return own === undefined ? undefined : readTicket(own)
  } catch {
    return undefined
  }
}

/** The subject that a ticket is bound to. */
function subjectOf({ name: server }: Backend, name: string, args: unknown): { name: string; args: unknown } {
  return { name: `${server} ${name}`, args: args ?? {} }
}

interface RunningRound {
  readonly parked: ParkedCall
  readonly outcome: Promise<ParkedOutcome>
}

type AskingOutcome = ParkedOutcome & { readonly kind: 'asked' }

function isDown(error: unknown): boolean {
  return error instanceof BackendError && error.reason === 'BACKEND_DOWN'
}

/** The quota entry of a call: its timeout, caller and size. */
function parkedBy({ backend, relayed, params }: ParkableCall, generation: number, more: unknown): Parked {
  return {
    generation,
    server: backend.name,
    caller: quotaCaller(relayed),
    chars: JSON.stringify([params, more]).length,
    parkMs: backend.config.settings.parkSeconds * 1000,
  }
}

/** The channel of a round. Each round may have its own progress token, but the server knows that of the first. */
function channelOf({ channel, meta, forwardedBy }: Call, { scope: { members } }: MethodParts): RoundChannel {
  const { progressToken } = meta
  return {
    notify: (method, params) => {
      if (method !== 'notifications/progress') channel.notify(method, params)
      else if (progressToken !== undefined) channel.notify(method, { ...params, progressToken })
    },
    onCancel: (listener) => channel.onCancel(listener),
    onLost:
      forwardedBy &&
      ((listener) => {
        if (members.isLost(forwardedBy.id)) listener()
        return members.onLost(forwardedBy.id, listener)
      }),
  }
}

/**
 * Sends the call to its server. It keeps only what that needs, without the channel of the first round's client, who is
 * gone while the call waits. The answers stay here: the server gets them one by one.
 */
function senderOf({ backend, relayed }: ParkableCall): (way: ParkedWay) => Promise<Json> {
  const { notify: _, ask: __, onCancel: ___, params, ...kept } = relayed
  const { requestState: ____, inputResponses: _____, ...first } = params
  return (way) => backend.request({ ...kept, params: first, ...way })
}
