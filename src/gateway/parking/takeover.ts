/**
 * A call that waits in a process which is gone. The first process to claim it goes on with it, where that does no harm, and the
 * others forward their rounds there.
 */
import { isObject, type Json } from '../../protocol/index.ts'
import { type Call, Generations, type Instance, type MethodParts } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { holderOf } from '../backends/callers.ts'
import { type BackendError, callLost } from '../errors.ts'
import type { Relayed } from '../links/relayed.ts'
import type { TakenOver } from './parkedCall.ts'
import type { TicketAnswers } from './parkedQuestions.ts'
import { expired } from './parking.ts'
import type { ParkTicket } from './ticket.ts'

/** A call that may begin anew. */
export interface ReplayableCall {
  readonly backend: Backend
  /** The tool, prompt or resource, as its server knows it. */
  readonly name: string
  /** Whether it may begin anew when it is lost in the middle. */
  readonly isReplayable: boolean
  /** What the server is sent, but for its way to ask. */
  readonly relayed: Relayed
}

/**
 * Whether a call may begin anew when it is lost in the middle. Prompts and resources are read; of a tool its definition says
 * whether it may run twice, or the entry of its server (`replay`). `listed`: its definition, where there is one.
 */
export function isReplayable({ method }: Pick<Call, 'method'>, { config }: Backend, listed: Json | undefined): boolean {
  if (method !== 'tools/call' || config.settings.replay) return true
  const annotations = listed?.['annotations']
  return isObject(annotations) && (annotations['readOnlyHint'] === true || annotations['idempotentHint'] === true)
}

const ENDED = 'the process that waited for this answer ended, or the call with it'
const EVICTED =
  'more calls waited for answers than this gateway has room for, most of them of this caller, and this one was cancelled'
const UNCLAIMED =
  'the process that waited for this answer ended, and whether another one goes on with the call cannot be found out'
/** A claim outlives the ticket. */
const CLAIMED_LONGER_SECONDS = 3600

/** Who goes on with a call whose owner is gone. `gone`: those that were found to be. */
export async function claimTakeover(
  { backend, name, relayed }: ReplayableCall,
  { parked }: ParkTicket,
  gone: ReadonlySet<string>,
  { replicas, logger }: MethodParts,
): Promise<'fresh' | Instance> {
  const ttlSeconds = backend.config.settings.parkSeconds + CLAIMED_LONGER_SECONDS
  const claims = new Generations({ self: replicas.self, ledger: replicas.ledger, ttlSeconds, logger })
  const claimant = await claims.claimAfter(`parked/${parked}`, 0, gone, holderOf(relayed))
  if (typeof claimant === 'number') return 'fresh'
  if (typeof claimant === 'string') throw callLost(backend.name, name, UNCLAIMED)
  return claimant
}

/** What a call goes on from here: the answers of its ticket, and those that this round brings. */
export function takeoverOf(call: ReplayableCall, ticket: ParkTicket, responses: Json): TakenOver {
  const { owner, generation, questions } = ticket
  const answers = assertReplayable(call, ticket)
  const brought = Object.entries(responses).flatMap(([key, response]) => {
    const question = Object.hasOwn(questions, key) ? questions[key] : undefined
    return question === undefined || !isObject(response) ? [] : [[question, response] as const]
  })
  return { from: owner.id, generation, answers: [...answers, ...brought] }
}

/** The answers to go on with; throws where the call may not begin anew. */
export function assertReplayable(call: ReplayableCall, ticket: ParkTicket): TicketAnswers {
  if (isOver(ticket) || !call.isReplayable || ticket.answers === undefined) throw lostWith(call, ticket)
  return ticket.answers
}

/** What is told of a call that was ended because there was no room. */
export function evictedWith({ backend, name }: Pick<ReplayableCall, 'backend' | 'name'>): BackendError {
  return callLost(backend.name, name, EVICTED)
}

/** What is told of a call that nobody has any more. */
export function lostWith(
  { backend, name }: Pick<ReplayableCall, 'backend' | 'name'>,
  ticket: ParkTicket,
): BackendError {
  return isOver(ticket)
    ? expired(backend.name, backend.config.settings.parkSeconds)
    : callLost(backend.name, name, ENDED)
}

function isOver({ until }: ParkTicket): boolean {
  return Date.now() > until
}
