/**
 * Claims of parked calls whose owner is gone. The first process to claim one resumes it, if it is replayable, and the
 * others forward their rounds there.
 */
import { isObject, type Json } from '../../protocol/index.ts'
import { Claims, type Instance } from '../../cluster/index.ts'
import type { Call, MethodParts } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { quotaCaller } from '../links/callers.ts'
import { type BackendError, callLost } from '../errors.ts'
import type { Relayed } from '../links/relayed.ts'
import type { ClaimedCall } from './parkedCall.ts'
import type { TicketAnswers } from './parkedQuestions.ts'
import { expired } from './parking.ts'
import type { ParkTicket } from './ticket.ts'

/** A call that may run again after its owner is gone. */
export interface ReplayableCall {
  readonly backend: Backend
  /** The server's own name of the tool, prompt or resource. */
  readonly name: string
  /** Whether it may run again after its run was cut off. */
  readonly isReplayable: boolean
  /** The request to the server, without the channel for questions. */
  readonly relayed: Relayed
}

/**
 * Whether a call may run again after its run was cut off. Prompts and resources are only read; a tool may if its
 * definition, or the entry of its server (`replay`), allows it. `listed`: its definition, if known.
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
  'the process that waited for this answer ended, and it is unknown whether another one continues the call'
/** Life of a claim beyond that of the ticket. */
const CLAIMED_LONGER_SECONDS = 3600

/**
 * Claims a call whose owner is gone, or returns the process that claimed it first. `gone`: the processes found to be
 * gone.
 */
export async function claimParked(
  { backend, name, relayed }: ReplayableCall,
  { parked }: ParkTicket,
  gone: ReadonlySet<string>,
  { scope, logger }: MethodParts,
): Promise<'fresh' | Instance> {
  const ttlSeconds = backend.config.settings.parkSeconds + CLAIMED_LONGER_SECONDS
  const claims = new Claims({ self: scope.self, ledger: scope.ledger, ttlSeconds, logger })
  const claimant = await claims.claimAfter(`parked/${parked}`, 0, gone, quotaCaller(relayed))
  if (typeof claimant === 'number') return 'fresh'
  if (typeof claimant === 'string') throw callLost(backend.name, name, UNCLAIMED)
  return claimant
}

/** The state to resume a call from: the answers of its ticket, and those of this round. */
export function claimedCallOf(call: ReplayableCall, ticket: ParkTicket, responses: Json): ClaimedCall {
  const { owner, generation, questions } = ticket
  const answers = assertReplayable(call, ticket)
  const brought = Object.entries(responses).flatMap(([key, response]) => {
    const question = Object.hasOwn(questions, key) ? questions[key] : undefined
    return question === undefined || !isObject(response) ? [] : [[question, response] as const]
  })
  return { from: owner.id, generation, answers: [...answers, ...brought] }
}

/** The answers to replay; throws if the call may not run again. */
export function assertReplayable(call: ReplayableCall, ticket: ParkTicket): TicketAnswers {
  if (isOver(ticket) || !call.isReplayable || ticket.answers === undefined) throw lostWith(call, ticket)
  return ticket.answers
}

/** The error for an evicted call. */
export function evictedWith({ backend, name }: Pick<ReplayableCall, 'backend' | 'name'>): BackendError {
  return callLost(backend.name, name, EVICTED)
}

/** The error for a call that no process holds any more. */
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
