/**
 * The ticket of a parked call, which a client brings back sealed in `requestState`. The seal itself names the route,
 * the caller, the tool and the digest of its arguments; the ticket adds where the call waits, and for what.
 */
import { isObject, type Json } from '../../protocol/index.ts'
import { type Instance, readInstance, writeInstance } from '../../cluster/index.ts'
import { StateError } from '../../state/internal.ts'
import type { TicketAnswers } from './parkedQuestions.ts'

export interface ParkTicket {
  /** The process in which the server's call waits. */
  readonly owner: Instance
  readonly parked: string
  readonly generation: number
  /** The digests of the open questions, by key. */
  readonly questions: Readonly<Record<string, string>>
  /** Undefined if they are too large to travel: then only the owner can continue the call. */
  readonly answers: TicketAnswers | undefined
  /** Until when the call waits, in milliseconds since 1970. */
  readonly until: number
}

/** A state has a limit, and answers to sampling can be large. */
const MAX_ANSWER_CHARS = 16_000

export function writeTicket({ owner, answers = [], ...rest }: ParkTicket): Json {
  const travels = JSON.stringify(answers).length <= MAX_ANSWER_CHARS
  return { ...rest, owner: writeInstance(owner), answers: travels ? answers : null }
}

/** Reads a ticket. It was sealed by a gateway, but perhaps by one of another version. */
export function readTicket(value: unknown): ParkTicket {
  const { owner: entry, parked, generation, questions, answers, until } = isObject(value) ? value : {}
  const owner = readInstance(entry)
  const isRead = typeof parked === 'string' && typeof generation === 'number' && typeof until === 'number'
  if (owner === undefined || !isRead || !isObject(questions))
    throw new StateError('STATE_MALFORMED', 'The ticket is of a version that this gateway cannot read.')
  return {
    owner,
    parked,
    generation,
    until,
    questions: questions as Record<string, string>,
    answers: Array.isArray(answers) ? (answers as TicketAnswers) : undefined,
  }
}
