/**
 * The ticket of a parked call, which a client brings back in `requestState`. Its seal binds it to the route, the
 * caller, the tool and the digest of its arguments; the ticket names the owner of the call and its open questions.
 */
import { isObject, type Json, ProtocolError } from '../../protocol/index.ts'
import { type Instance, readInstance, writeInstance } from '../../cluster/index.ts'
import type { CallTrace } from '../../journal/index.ts'
import type { Call } from '../../server/internal.ts'
import { digestOf, StateError } from '../../state/internal.ts'
import { type Binding, createSealer, type Sealer, type SealOptions } from '../../state/seal/index.ts'
import type { TicketAnswers } from './parkedQuestions.ts'

export interface ParkTicket {
  /** The process in which the server's call waits. */
  readonly owner: Instance
  readonly parked: string
  readonly generation: number
  /** The digests of the open questions, by key. */
  readonly questions: Readonly<Record<string, string>>
  /** Undefined if the answers are too large for a ticket: then only the owner can continue the call. */
  readonly answers: TicketAnswers | undefined
  /** When the call expires, in milliseconds since 1970. */
  readonly until: number
  /** Absent if no span of the call was recorded. */
  readonly trace?: CallTrace | undefined
}

/** The binding of a ticket beside its caller. */
export interface TicketSubject {
  readonly server: string
  /** The server's own name of the tool, prompt or resource. */
  readonly name: string
  readonly args: unknown
}

/** Answers to sampling can be large. */
const MAX_ANSWER_CHARS = 16_000
/** The largest ticket: its answers, three bytes for each character, and the digests of a hundred questions. */
const MAX_BYTES = 128 * 1024

export class Tickets {
  readonly #sealer: Sealer

  /** `audience` names the route. */
  constructor(sealing: Pick<SealOptions, 'keyring' | 'audience' | 'ttlSeconds'>) {
    this.#sealer = createSealer({ ...sealing, maxBytes: MAX_BYTES })
  }

  seal(call: Call, subject: TicketSubject, ticket: ParkTicket): string {
    const { owner, parked, generation, questions, answers = [], until, trace } = ticket
    const travels = JSON.stringify(answers).length <= MAX_ANSWER_CHARS
    const body = { owner: writeInstance(owner), questions, answers: travels ? answers : null, until, trace }
    return this.#sealer.seal('request', bindingOf(call, subject), { id: parked, round: generation, body })
  }

  /** The ticket of a request; undefined if it brings no state. Throws if its state is no ticket of this call. */
  open(call: Call, subject: TicketSubject): ParkTicket | undefined {
    const { requestState } = call.params
    if (requestState === undefined) return undefined
    if (typeof requestState !== 'string') throw new ProtocolError('PARAMS_INVALID', '"requestState" must be a string.')
    const { id, round, body } = this.#sealer.open('request', bindingOf(call, subject), requestState)
    return { parked: id, generation: round, ...readBody(body) }
  }
}

function bindingOf({ principal, peer, method }: Call, { server, name, args }: TicketSubject): Binding {
  return {
    principal: principal?.id,
    session: peer.session,
    method,
    name: `${server} ${name}`,
    argumentsDigest: digestOf(args ?? {}),
  }
}

/** Checks the contents: the gateway that sealed them may have another version. */
function readBody(body: unknown): Omit<ParkTicket, 'parked' | 'generation'> {
  const { owner: written, questions, answers, until, trace } = isObject(body) ? body : ({} as Json)
  const owner = readInstance(written)
  if (owner === undefined || typeof until !== 'number' || !isObject(questions))
    throw new StateError('STATE_MALFORMED', 'The ticket is of a version that this gateway cannot read.')
  return {
    owner,
    until,
    questions: questions as Record<string, string>,
    answers: Array.isArray(answers) ? (answers as TicketAnswers) : undefined,
    trace: trace as CallTrace | undefined,
  }
}
