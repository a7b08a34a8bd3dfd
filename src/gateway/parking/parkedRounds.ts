/** Rounds of stateless callers with servers of the session era: the server waits in the middle of its call. */
import { randomUUID } from 'node:crypto'
import { isObject, type Json, RemoteError } from '../../protocol/index.ts'
import { type Call, type DetachableContext, InputRequired, type MethodParts } from '../../server/internal.ts'
import { digestOf } from '../../state/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { callerOf } from '../backends/places.ts'
import type { Relayed } from '../links/relayed.ts'
import { callLost } from '../errors.ts'
import { ParkedCall, type ParkedOutcome, type ParkedWay, type RoundChannel } from './parkedCall.ts'
import { expired, type Parking } from './parking.ts'
import { readTicket, type ParkTicket, writeTicket } from './ticket.ts'

/** A call that its server may ask about. */
export interface ParkableCall {
  readonly call: Call
  readonly backend: Backend
  /** The tool, prompt or resource, as its server knows it. */
  readonly name: string
  readonly params: Json
  /** What the server is sent, but for its way to ask. */
  readonly relayed: Relayed
  /** Told what became of the round. */
  readonly watched: { saw(result: Json): void; asked(): void }
  /** Tells the client who it is, in what it keeps. */
  readonly introduce: (session: DetachableContext['state']['session']) => void
  /** The result as this caller takes it. */
  readonly finish: (result: Json) => Json
}

const ENDED = 'the process that waited for this answer had ended, or the call with it'

export class ParkedRounds {
  readonly #parking: Parking
  readonly #parts: MethodParts

  constructor(parking: Parking, parts: MethodParts) {
    this.#parking = parking
    this.#parts = parts
  }

  /** Gives the text of the result. A round of a call that waits in another process is answered there. */
  async play(asking: ParkableCall): Promise<string> {
    const { rounds, replicas } = this.#parts
    const { call, backend, name, params, finish } = asking
    const subject = { name: `${backend.name} ${name}`, args: params['arguments'] ?? {} }
    const revived = await rounds.open(call, subject)
    const ticket = revived.own === undefined ? undefined : readTicket(revived.own)
    if (ticket !== undefined && ticket.owner.id !== replicas.self.id) return this.#forward(asking, ticket)
    return rounds.play<Json>(
      { ...call, revived },
      { subject, invoke: (ctx) => this.#round(asking, ticket, ctx), finish },
    )
  }

  async #round(
    asking: ParkableCall,
    ticket: ParkTicket | undefined,
    ctx: DetachableContext,
  ): Promise<Json | InputRequired> {
    const channel = channelOf(asking.call)
    const parked = ticket === undefined ? newParked(asking) : this.#resume(asking, ticket)
    const outcome = await (ticket === undefined
      ? parked.begin(channel, (way) => asking.backend.request(relayedBy(asking, way)))
      : parked.round(channel, { ...ticket, responses: ctx.inputResponses }))
    if (outcome.kind === 'asked') {
      asking.watched.asked()
      asking.introduce(ctx.state.session)
      return this.#ask(asking, parked, outcome)
    }
    asking.watched.saw(outcome.result)
    return outcome.result
  }

  #resume({ backend, name }: ParkableCall, ticket: ParkTicket): ParkedCall {
    const parked = this.#parking.resume(ticket.parked)
    if (parked !== undefined) return parked
    throw Date.now() > ticket.until
      ? expired(backend.name, backend.config.settings.parkSeconds)
      : callLost(backend.name, name, ENDED)
  }

  #ask(asking: ParkableCall, parked: ParkedCall, outcome: ParkedQuestions): InputRequired {
    const { relayed, backend, params } = asking
    const { requests, answers, generation } = outcome
    const parkMs = backend.config.settings.parkSeconds * 1000
    const chars = JSON.stringify([params, [...requests], answers]).length
    this.#parking.keep(parked, { server: backend.name, caller: callerOf(relayed), chars, parkMs })
    const questions = Object.fromEntries(Array.from(requests, ([key, request]) => [key, digestOf(request)]))
    const { self } = this.#parts.replicas
    const until = Date.now() + parkMs
    return new InputRequired(
      requests,
      writeTicket({ owner: self, parked: parked.id, generation, questions, answers, until }),
    )
  }

  async #forward({ call, backend, name, watched }: ParkableCall, { owner }: ParkTicket): Promise<string> {
    const forwarded = await this.#parts.replicas.calls.forward(owner, call)
    if (forwarded.kind === 'gone') throw callLost(backend.name, name, ENDED)
    const { result, error } = forwarded.response
    if (isObject(result)) {
      watched.saw(result)
      return JSON.stringify(result)
    }
    const { code, message, data } = error as { code: number; message: string; data?: unknown }
    throw new RemoteError(code, message, data)
  }
}

type ParkedQuestions = ParkedOutcome & { readonly kind: 'asked' }

function newParked({ backend }: ParkableCall): ParkedCall {
  return new ParkedCall(randomUUID(), backend.name)
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

/** The answers stay here: the server gets them one by one. */
function relayedBy({ relayed }: ParkableCall, way: ParkedWay): Relayed {
  const { requestState: _, inputResponses: __, ...first } = relayed.params
  return { ...relayed, params: first, ...way }
}
