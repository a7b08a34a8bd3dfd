/**
 * The rounds of calls that run, and those that have ended lately, for the console: always recorded, at most `MAX_ROUNDS` of them in each
 * process. Rounds of one call are found together by the digest of the state that one gave and the next one brought. Never a state, an
 * answer or a message; arguments only where the audit log has them, too.
 */
import { type Era, isObject, type Json, parseJson } from '../../protocol/index.ts'
import { type Call, type Principal, principalDetails, shortened } from '../../server/internal.ts'
import { digestOf } from '../../state/internal.ts'
import type { CallOutcome, CallTarget } from './outcome.ts'

/** What happened in a round, in milliseconds after its start. */
export interface RoundEvent {
  readonly ms: number
  readonly kind: 'asked' | 'answered' | 'approval'
  readonly text: string
}

export interface RecordedRound {
  readonly server: string
  readonly method: string
  /** The tool or prompt. */
  readonly name?: string
  readonly route: string
  readonly requestId?: string | number
  readonly caller?: string
  readonly client?: string
  /** The era of the caller. */
  readonly era?: Era
  readonly startedAt: number
  /** Absent while it runs. */
  readonly ms?: number
  readonly outcome?: CallOutcome
  readonly error?: string
  /** The digest of the state that the request brought. */
  readonly brought?: string
  /** The digest of the state that the result gave. */
  readonly gave?: string
  /** The process that forwarded the round to this one. */
  readonly forwardedBy?: string
  /** The round of this process for which this one was sent, such as one that waited for an approval. */
  readonly within?: string
  readonly traceId?: string
  readonly arguments?: Json
  readonly events: readonly RoundEvent[]
}

/** Maximum number of rounds that have ended. */
const MAX_ROUNDS = 1000
const MAX_EVENTS = 50
const MAX_ARGUMENT_CHARS = 4000

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

export class RecentCalls {
  /** Whether arguments are kept. */
  showsArguments = false
  readonly #running = new Map<string, RoundRecorder>()
  readonly #ended = new Map<string, RecordedRound>()
  /** The first round of each request. */
  readonly #outer = new WeakMap<Call['channel'], string>()
  #count = 0

  begun(call: Call, route: string, target: CallTarget, args: Json | undefined): RoundRecorder {
    const id = String(++this.#count)
    const shown = this.showsArguments && args !== undefined && !isTooLong(args) ? args : undefined
    const round = new RoundRecorder(call, route, target, shown, (ended) => {
      this.#running.delete(id)
      this.#keep(id, ended)
    })
    const within = this.#outer.get(call.channel)
    if (within === undefined) this.#outer.set(call.channel, id)
    else round.record.within = within
    this.#running.set(id, round)
    return round
  }

  /** A request that passed through the gateway unread. */
  passed(round: Omit<RecordedRound, 'events' | 'startedAt'>): void {
    this.#keep(String(++this.#count), { ...round, startedAt: Date.now() - (round.ms ?? 0), events: [] })
  }

  /** The newest rounds first. */
  *rounds(): Iterable<readonly [id: string, round: RecordedRound]> {
    for (const [id, round] of [...this.#running].toReversed()) yield [id, round.record]
    yield* [...this.#ended].toReversed()
  }

  #keep(id: string, round: RecordedRound): void {
    this.#ended.set(id, round)
    if (this.#ended.size <= MAX_ROUNDS) return
    const [oldest] = this.#ended.keys()
    if (oldest !== undefined) this.#ended.delete(oldest)
  }
}

/** A round that runs. */
export class RoundRecorder {
  readonly record: Mutable<RecordedRound> & { readonly events: RoundEvent[] }
  readonly #startedAt = performance.now()
  readonly #onEnd: (round: RecordedRound) => void

  constructor(
    call: Call,
    route: string,
    { server, name }: CallTarget,
    args: Json | undefined,
    onEnd: (round: RecordedRound) => void,
  ) {
    const { id, method, peer, principal, params, forwardedBy } = call
    const { requestState, inputResponses } = params
    this.#onEnd = onEnd
    this.record = {
      server,
      method,
      ...(name !== undefined && { name: shortened(name) }),
      route,
      requestId: typeof id === 'string' ? shortened(id) : id,
      ...(principal && { caller: callerText(principal) }),
      ...(peer.client?.name !== undefined && { client: shortened(String(peer.client.name)) }),
      era: peer.era,
      startedAt: Date.now(),
      ...(typeof requestState === 'string' && { brought: digestOf(requestState) }),
      ...(forwardedBy && { forwardedBy: forwardedBy.id }),
      ...(args && { arguments: args }),
      events: [],
    }
    if (!isObject(inputResponses)) return
    for (const [key, answer] of Object.entries(inputResponses)) this.answered(key, answer)
  }

  asked(requests: Json): void {
    for (const [key, request] of Object.entries(requests)) {
      const kind = isObject(request) && typeof request['method'] === 'string' ? request['method'] : ''
      this.event('asked', `${shortened(key)}${kind === '' ? '' : ` · ${shortened(kind)}`}`)
    }
  }

  answered(key: string, answer: unknown): void {
    const action = isObject(answer) && typeof answer['action'] === 'string' ? ` · ${shortened(answer['action'])}` : ''
    this.event('answered', `${shortened(key)}${action}`)
  }

  event(kind: RoundEvent['kind'], text: string): void {
    if (this.record.events.length < MAX_EVENTS) this.record.events.push({ ms: this.#ms(), kind, text })
  }

  /** `answer`: the text of the result, as the client gets it. */
  end(outcome: CallOutcome, error: string | undefined, traceId: string | undefined, answer?: string): void {
    const { record } = this
    const given = outcome === 'asked' && answer !== undefined ? parseJson(answer, Infinity) : undefined
    if (isObject(given)) this.#gave(given)
    record.ms = this.#ms()
    record.outcome = outcome
    if (error !== undefined) record.error = error
    if (traceId !== undefined) record.traceId = traceId
    this.#onEnd(record)
  }

  #gave({ requestState, inputRequests }: Json): void {
    if (typeof requestState === 'string') this.record.gave = digestOf(requestState)
    if (isObject(inputRequests)) this.asked(inputRequests)
  }

  #ms(): number {
    return Math.round((performance.now() - this.#startedAt) * 10) / 10
  }
}

export function callerText(principal: Principal): string {
  const { principal: subject = '', issuer } = principalDetails(principal)
  return issuer === undefined ? subject : `${subject} (${issuer})`
}

function isTooLong(args: Json): boolean {
  return JSON.stringify(args).length > MAX_ARGUMENT_CHARS
}
