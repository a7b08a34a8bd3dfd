/** Rounds of stateless callers with servers of the session era: the server waits in the middle of its call. */
import { randomUUID } from 'node:crypto'
import type { Json } from '../../protocol/index.ts'
import {
  type Call,
  type DetachableContext,
  InputRequired,
  type Instance,
  type MethodParts,
} from '../../server/internal.ts'
import { digestOf } from '../../state/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { holderOf } from '../backends/callers.ts'
import { forwardable } from '../links/relayed.ts'
import { BackendError, callLost, isBackendGone } from '../errors.ts'
import { resultOf } from '../response.ts'
import { ParkedCall, type ParkedOutcome, type ParkedWay, type RoundChannel, type TakenOver } from './parkedCall.ts'
import type { Parked, Parking } from './parking.ts'
import { assertReplayable, claimTakeover, evictedWith, lostWith, type ReplayableCall, takeoverOf } from './takeover.ts'
import { readTicket, type ParkTicket, writeTicket } from './ticket.ts'

/** A call that its server may ask about. */
export interface ParkableCall extends ReplayableCall {
  readonly call: Call
  readonly params: Json
  /** Told what became of the round. */
  readonly recorded: { result(result: Json): void; asked(): void }
  /** Tells the client who it is, in what it keeps. */
  readonly introduce: (session: DetachableContext['state']['session']) => void
  /** The answer of the gateway that serves the caller, where they look that up; undefined where this one does. */
  readonly answerAtPlace: () => Promise<string | undefined>
  /** The result as this caller takes it. */
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
  async isTicket(
    call: Call,
    { backend, name }: Pick<ParkableCall, 'backend' | 'name'>,
    args: unknown,
  ): Promise<boolean> {
    try {
      const { own } = await this.#parts.rounds.open(call, subjectOf(backend, name, args))
      return own !== undefined && readTicket(own) !== undefined
    } catch {
      return false
    }
  }

  /** Gives the text of the result. A round of a call that waits in another process is answered there. */
  async run(asking: ParkableCall): Promise<string> {
    const { rounds } = this.#parts
    const { call, backend, name, params, finish } = asking
    const subject = subjectOf(backend, name, params['arguments'])
    const revived = await rounds.open(call, subject)
    const ticket = revived.own === undefined ? undefined : readTicket(revived.own)
    const isElsewhere = ticket !== undefined && !this.#isHere(ticket)
    const answer = isElsewhere ? await this.#answerElsewhere(asking, ticket) : undefined
    if (answer !== undefined) return answer
    const invoke = (ctx: DetachableContext): Promise<Json | InputRequired> =>
      this.#round(asking, ctx, this.#parked(asking, ticket, ctx.inputResponses))
    return rounds.run<Json>({ ...call, revived }, { subject, invoke, finish })
  }

  #isHere({ owner, parked }: ParkTicket): boolean {
    return owner.id === this.#parts.replicas.self.id || owner.id === this.#parking.find(parked)?.takenFrom
  }

  /** The call of this round, and its outcome. Another round may have taken the call over meanwhile. */
  #parked(asking: ParkableCall, ticket: ParkTicket | undefined, responses: Json): RunningRound {
    const channel = channelOf(asking.call)
    if (ticket !== undefined && (this.#isHere(ticket) || this.#hasTaken(ticket))) {
      const parked = this.#resume(asking, ticket)
      return { parked, outcome: parked.round(channel, { ...ticket, responses }) }
    }
    const parked = ticket === undefined ? this.#newParked(asking) : this.#takeOver(asking, ticket, responses)
    return { parked, outcome: parked.begin(channel, senderOf(asking)) }
  }

  async #round(asking: ParkableCall, ctx: DetachableContext, round: RunningRound): Promise<Json | InputRequired> {
    const { backend, name, recorded, introduce } = asking
    const { parked } = round
    const outcome = await round.outcome.catch((error: unknown) => {
      this.#parking.leave(parked)
      throw parked.isLost(error) ? callLost(backend.name, name, SERVER_ENDED) : error
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
   * The answer of the process that has the call; undefined where the call goes on here. When the owner is gone, the first
   * process to claim the call goes on with it, and the others forward their rounds there.
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
      const claimant = await claimTakeover(asking, ticket, gone, this.#parts)
      if (claimant === 'fresh') return undefined
      if (claimant.id === this.#parts.replicas.self.id) return this.#untilTaken(asking, ticket)
      owner = claimant
    }
    throw lostWith(asking, ticket)
  }

  /** Another round has claimed the call for this process a moment ago, or long ago and the call is over. */
  async #untilTaken(asking: ParkableCall, ticket: ParkTicket): Promise<undefined> {
    for (let waitedMs = 0; !this.#hasTaken(ticket); waitedMs += LOOK_AGAIN_MS) {
      if (waitedMs >= TAKEN_WITHIN_MS) throw lostWith(asking, ticket)
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
    }
  }

  /** Whether this process has taken the call over. Its ticket may be of a process before the last. */
  #hasTaken({ parked }: ParkTicket): boolean {
    return this.#parking.find(parked)?.takenFrom !== undefined
  }

  /** The process that had the call is gone. It begins anew, where that does no harm, with the answers so far. */
  #takeOver(asking: ParkableCall, ticket: ParkTicket, responses: Json): ParkedCall {
    const takenOver = takeoverOf(asking, ticket, responses)
    const taken = this.#newParked(asking, ticket.parked, takenOver)
    this.#parking.enter(taken, parkedBy(asking, ticket.generation, takenOver.answers))
    return taken
  }

  #newParked(
    { backend, name, isReplayable }: ParkableCall,
    id: string = randomUUID(),
    takenOver?: TakenOver,
  ): ParkedCall {
    const { name: server } = backend
    // A server that was not there in the first place has not begun anything.
    const mayRepeat = (error: unknown, attempt: number): boolean =>
      isReplayable && isBackendGone(error) && (attempt > 1 || !isDown(error))
    const onRepeat = (): void => this.#parts.logger().info({ server, name }, REPEATED)
    return new ParkedCall(id, { server, mayRepeat, onRepeat, ...(takenOver && { takenOver }) })
  }

  #ask(asking: ParkableCall, parked: ParkedCall, outcome: AskingOutcome): InputRequired {
    const { requests, answers, generation } = outcome
    const until = this.#parking.keep(parked, parkedBy(asking, generation, [[...requests], answers]))
    const questions = Object.fromEntries(Array.from(requests, ([key, request]) => [key, digestOf(request)]))
    const { self } = this.#parts.replicas
    return new InputRequired(
      requests,
      writeTicket({ owner: self, parked: parked.id, generation, questions, answers, until }),
    )
  }

  /** Undefined where the owner is gone. */
  async #forward({ call, recorded }: ParkableCall, owner: Instance): Promise<string | undefined> {
    const forwarded = await this.#parts.replicas.calls.forward(owner, forwardable(call))
    if (forwarded.kind === 'gone') return undefined
    const result = resultOf(forwarded.response)
    recorded.result(result)
    return JSON.stringify(result)
  }
}

/** What a ticket is bound to. */
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

/** How long it may wait, for whom, and what it holds. */
function parkedBy({ backend, relayed, params }: ParkableCall, generation: number, more: unknown): Parked {
  return {
    generation,
    server: backend.name,
    caller: holderOf(relayed),
    chars: JSON.stringify([params, more]).length,
    parkMs: backend.config.settings.parkSeconds * 1000,
  }
}

/** Each round may have a progress token of its own, but the server knows that of the first. */
function channelOf({ channel, meta }: Call): RoundChannel {
  const { progressToken } = meta
  return {
    notify: (method, params) => {
      if (method !== 'notifications/progress') channel.notify(method, params)
      else if (progressToken !== undefined) channel.notify(method, { ...params, progressToken })
    },
    onCancel: (listener) => channel.onCancel(listener),
  }
}

/**
 * Sends the call to its server. It keeps what is needed for that, and not the way to the client of the first round, who is
 * gone while the call waits. The answers stay here: the server gets them one by one.
 */
function senderOf({ backend, relayed }: ParkableCall): (way: ParkedWay) => Promise<Json> {
  const { notify: _, ask: __, onCancel: ___, params, ...kept } = relayed
  const { requestState: ____, inputResponses: _____, ...first } = params
  return (way) => backend.request({ ...kept, params: first, ...way })
}
