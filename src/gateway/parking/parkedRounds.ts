/**
 * Rounds of stateless callers with session-era servers, which wait for answers in the middle of a call. A round opens
 * its ticket, continues the call at its owner, and returns the result or the next questions.
 */
import { randomUUID } from 'node:crypto'
import type { InputRequest } from '@modelcontextprotocol/client'
import {
  capabilityNames,
  declaresAll,
  isObject,
  type Json,
  neededCapability,
  ProtocolError,
} from '../../protocol/index.ts'
import type { Instance } from '../../cluster/index.ts'
import { type CallTrace, JournalError } from '../../journal/index.ts'
import { type Call, type ClientEvent, MAX_ROUNDS, type MethodParts, type TracedCall } from '../../server/internal.ts'
import { digestOf } from '../../state/internal.ts'
import { callLost, inRound, isBackendGone, resultOf, backendCodeOf } from '../errors.ts'
import { quotaCaller } from '../links/callers.ts'
import { forwardable } from '../links/relayed.ts'
import { assertReplayable, claimedCallOf, claimParked, evictedWith, lostWith, type ReplayableCall } from './claim.ts'
import { type ClaimedCall, ParkedCall, type ParkedOutcome, type ParkedWay, type RoundChannel } from './parkedCall.ts'
import type { Parked, Parking } from './parking.ts'
import type { ParkTicket, Tickets, TicketSubject } from './ticket.ts'

/** A call whose server may ask. */
export interface ParkableCall extends ReplayableCall {
  readonly call: Call
  readonly params: Json
  /** Records the outcome of the round. */
  readonly recorded: { result(result: Json): void; asked(): void }
  /** The `_meta` of a result that asks. */
  readonly askingMeta: Json | undefined
  /** Forwards a replayable call to the gateway with the caller's lease; undefined if this gateway has it, or there are no leases. */
  readonly answerAtPlace: () => Promise<string | undefined>
  /** Converts the result for this caller. */
  readonly finish: (result: Json) => Json
}

/** Maximum wait for another round of this process that has claimed the call and is about to register it. */
const CLAIMED_WITHIN_MS = 1000
const LOOK_AGAIN_MS = 20
const SERVER_ENDED = 'the server ended, or its connection broke'
const REPEATED = 'A server ended in the middle of a call that may run twice. The call runs again.'

export class ParkedRounds {
  readonly #parking: Parking
  readonly #parts: MethodParts
  readonly #tickets: Tickets

  constructor(parking: Parking, tickets: Tickets, parts: MethodParts) {
    this.#parking = parking
    this.#tickets = tickets
    this.#parts = parts
  }

  /** Whether a request brings the ticket of a call of this server. */
  isTicket(call: Call, subject: TicketSubject): boolean {
    return this.#ticketIn(call, subject) !== undefined
  }

  /** The parked call of a request, for its spans. */
  tracedBy(call: Call, subject: TicketSubject): TracedCall | undefined {
    const ticket = this.#ticketIn(call, subject)
    return ticket && tracedCall(ticket, ticket.generation + 1, ticket.trace, Object.keys(ticket.questions))
  }

  /** Reports that the client of a ticket has cancelled its call or is disconnected, here or to another process. */
  async report(event: ClientEvent, call: Call, subject: TicketSubject): Promise<void> {
    const { owner, parked } = this.#ticketIn(call, subject) ?? {}
    const { calls, scope } = this.#parts
    if (owner === undefined || parked === undefined) return // no ticket: a stateless-era server keeps no call
    if (owner.id === scope.self.id) calls.deliver(event, parked)
    else await calls.report(event, owner, parked)
  }

  /** Returns the text of the result. */
  async run(asking: ParkableCall): Promise<string> {
    const { call, recorded, finish } = asking
    const ticket = this.#tickets.open(call, subjectOf(asking))
    const isElsewhere = ticket !== undefined && !this.#isHere(ticket)
    const answer = isElsewhere ? await this.#answerElsewhere(asking, ticket) : undefined
    if (answer !== undefined) return answer
    const round = this.#round(asking, ticket, responsesIn(call))
    const outcome = await round.outcome.catch((error: unknown) => this.#fail(asking, round.parked, error))
    if (outcome.kind === 'asked') return this.#ask(asking, round.parked, outcome, ticket?.trace)
    recorded.result(outcome.result)
    return this.#parts.results.complete(finish(outcome.result), call.peer)
  }

  /** The ticket of a request; undefined if its state is not a ticket. */
  #ticketIn(call: Call, subject: TicketSubject): ParkTicket | undefined {
    try {
      return this.#tickets.open(call, subject)
    } catch {
      return undefined
    }
  }

  #isHere({ owner, parked }: ParkTicket): boolean {
    return owner.id === this.#parts.scope.self.id || owner.id === this.#parking.find(parked)?.claimedFrom
  }

  /**
   * Begins a call, or continues it with the answers of this round. Another round may have claimed it in the meantime.
   */
  #round(asking: ParkableCall, ticket: ParkTicket | undefined, responses: Json): RunningRound {
    const channel = channelOf(asking.call, this.#parts)
    if (ticket !== undefined && (this.#isHere(ticket) || this.#hasClaimed(ticket))) {
      const parked = this.#continue(asking, ticket)
      return { parked, outcome: parked.round(channel, { ...ticket, responses }) }
    }
    const parked = ticket === undefined ? this.#newParked(asking) : this.#resumeLost(asking, ticket, responses)
    const outcome = parked.begin(channel, senderOf(asking))
    const forget = this.#parts.calls.onEvent(parked.id, (event) => {
      if (event === 'cancelled') parked.cancel()
      else parked.release()
    })
    void parked.whenEnded().then(forget)
    return { parked, outcome }
  }

  #fail({ backend, name }: ParkableCall, parked: ParkedCall, error: unknown): never {
    this.#parking.leave(parked)
    throw parked.isLost(error) ? callLost(backend.name, name, SERVER_ENDED) : inRound(error, parked.hasRepeated)
  }

  #continue(asking: ParkableCall, ticket: ParkTicket): ParkedCall {
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
      if (claimant.id === this.#parts.scope.self.id) return this.#untilClaimed(asking, ticket)
      owner = claimant
    }
    throw lostWith(asking, ticket)
  }

  /**
   * Waits for another round of this process that has just claimed the call. Throws if the claim is old and the call is
   * over.
   */
  async #untilClaimed(asking: ParkableCall, ticket: ParkTicket): Promise<undefined> {
    for (let waitedMs = 0; !this.#hasClaimed(ticket); waitedMs += LOOK_AGAIN_MS) {
      if (waitedMs >= CLAIMED_WITHIN_MS) throw lostWith(asking, ticket)
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
    }
  }

  /** Whether this process has claimed the call. The owner that its ticket names may be an earlier one. */
  #hasClaimed({ parked }: ParkTicket): boolean {
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
    // A server that was down at the first attempt has not started the call.
    const mayRepeat = (error: unknown, attempt: number): boolean =>
      isReplayable && isBackendGone(error) && (attempt > 1 || backendCodeOf(error) !== 'BACKEND_DOWN')
    const onRepeat = (): void => this.#parts.logger().info({ server, name }, REPEATED)
    return new ParkedCall(id, { server, mayRepeat, onRepeat, ...(claimed && { claimed }) })
  }

  /** Keeps the call for its next round; returns the text of a result with its questions and its ticket. */
  #ask(asking: ParkableCall, parked: ParkedCall, outcome: AskingOutcome, trace: CallTrace | undefined): string {
    const { call, recorded, askingMeta } = asking
    const { requests, answers, generation } = outcome
    recorded.asked()
    const until = this.#parking.keep(parked, parkedBy(asking, generation, [[...requests], answers]))
    assertMayAsk(call, requests, generation)
    const traced = tracedCall({ parked: parked.id }, generation, trace, [])
    call.observer?.asked(requests, traced)
    const questions = Object.fromEntries(Array.from(requests, ([key, request]) => [key, digestOf(request)]))
    const ticket = {
      owner: this.#parts.scope.self,
      parked: parked.id,
      generation,
      questions,
      answers,
      until,
      trace: traced.trace,
    }
    const requestState = this.#tickets.seal(call, subjectOf(asking), ticket)
    return this.#parts.results.inputRequired(requests, requestState, call.peer, askingMeta)
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

function tracedCall(
  { parked: id }: Pick<ParkTicket, 'parked'>,
  round: number,
  trace: CallTrace | undefined,
  questions: readonly string[],
): TracedCall {
  return { id, round, trace, open: { keys: () => questions } }
}

function subjectOf({ backend, name, params }: ParkableCall): TicketSubject {
  return { server: backend.name, name, args: params['arguments'] }
}

function responsesIn({ params: { inputResponses = {} } }: Call): Json {
  if (isObject(inputResponses)) return inputResponses
  throw new ProtocolError('PARAMS_INVALID', '"inputResponses" must be an object.')
}

/** Throws if the client of this round did not declare what is asked, or no further round is allowed. */
function assertMayAsk({ peer }: Call, requests: ReadonlyMap<string, InputRequest>, generation: number): void {
  for (const request of requests.values()) {
    const needed = neededCapability(request)
    if (declaresAll(peer.capabilities, needed)) continue
    const sentence = `This needs a client that declares: ${capabilityNames(needed)}.`
    throw new ProtocolError('CAPABILITY_MISSING', sentence, { requiredCapabilities: needed })
  }
  if (generation + 1 >= MAX_ROUNDS)
    throw new JournalError('ROUNDS_EXHAUSTED', `The call still asked for input after ${MAX_ROUNDS} rounds.`)
}

interface RunningRound {
  readonly parked: ParkedCall
  readonly outcome: Promise<ParkedOutcome>
}

type AskingOutcome = ParkedOutcome & { readonly kind: 'asked' }

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

/** The channel of a round. Rounds may have different progress tokens; the server knows only that of the first. */
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
 * Sends the call to its server. It does not reference the channel of the first round, whose client is gone while the
 * call waits. The answers stay here: the server gets them one by one.
 */
function senderOf({ backend, relayed }: ParkableCall): (way: ParkedWay) => Promise<Json> {
  const { notify: _, ask: __, onCancel: ___, params, ...kept } = relayed
  const { requestState: ____, inputResponses: _____, ...first } = params
  return (way) => backend.request({ ...kept, params: first, ...way })
}
