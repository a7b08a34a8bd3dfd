/**
 * One round of a call that may ask (tools/call, prompts/get, resources/read): open the journal it brings, run the
 * handler over it, and settle the outcome.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import {
  isBlank,
  type Journal,
  JournalError,
  nextRound,
  type Outcome,
  Run,
  type Watch,
  writeJournal,
} from '../../journal/index.ts'
import { isObject, type Json, ProtocolError } from '../../protocol/index.ts'
import type { Ledger } from '../../state/stores/index.ts'
import { assertAskable, InputRequired } from '../handler/questions.ts'
import type { Call } from '../call.ts'
import type { Carrier, Subject } from './carrier.ts'
import type { ClientState } from '../handler/clientState.ts'
import { Context, DetachableContext } from '../handler/context.ts'
import type { Load } from '../lifecycle/load.ts'
import type { Logger } from '../logger.ts'
import type { Results } from '../results.ts'

const MAX_ROUNDS_IN_PLACE = 64

export interface RoundRunnerOptions {
  readonly carrier: Carrier
  readonly ledger: Ledger
  readonly load: Load
  readonly results: Results
  readonly maxAsks: number
  readonly maxRounds: number
  readonly claimSeconds: number
  readonly unwindMs: number
  readonly watch: Watch | undefined
  readonly logger: () => Logger
}

/** What the three methods differ in. */
export interface Invocation<T> {
  readonly subject: Subject
  readonly invoke: (ctx: DetachableContext) => T | InputRequired | Promise<T | InputRequired>
  /** The result of a finished call. */
  readonly finish: (value: T) => Json | Promise<Json>
  /** The result of a handler that threw, where that is a result and not an error. */
  readonly rescue?: (error: unknown) => Json
  /** Makes a task of the call, where its handler may say so. Gives the text of the result. */
  readonly detach?: ((journal: Journal) => Promise<string>) | undefined
}

/** Every outcome but a result. */
type Unfinished = Exclude<Outcome<InputRequired>, { kind: 'complete' }> | { kind: 'complete'; value: InputRequired }

export class RoundRunner {
  readonly #options: RoundRunnerOptions

  constructor(options: RoundRunnerOptions) {
    this.#options = options
  }

  /** Gives the text of the result. */
  async play<T>(call: Call, round: Invocation<T>, state?: ClientState): Promise<string> {
    assertResponses(call.params['inputResponses'])
    const opened = call.revived ?? this.#options.carrier.open(call, round.subject)
    const journal = opened instanceof Promise ? await opened : opened
    const run = this.#newRun(call, journal, round.subject, round.detach !== undefined)
    const ctx = new DetachableContext(call, run, journal.own, state)
    const outcome = await run.play(() => round.invoke(ctx))
    if (outcome.kind !== 'complete') return this.#settle(call, round, journal, ctx, outcome)
    const { value } = outcome
    if (value instanceof InputRequired) return this.#settle(call, round, journal, ctx, { kind: 'complete', value })
    const finished = round.finish(value)
    const result = finished instanceof Promise ? await finished : finished
    return this.#options.results.complete(result, call.peer, Context.stateMeta(ctx))
  }

  /** What a call that becomes a task at once has gathered already: nothing, or the answers to a round before. */
  async gathered(call: Call, subject: Subject): Promise<Journal> {
    const { inputResponses = {} } = call.params
    assertResponses(inputResponses)
    const journal = await this.#options.carrier.open(call, subject)
    for (const [key, { question }] of journal.open) {
      const response = Object.hasOwn(inputResponses as Json, key) ? (inputResponses as Json)[key] : undefined
      if (isObject(response)) journal.answers.set(key, { question, response })
    }
    return journal
  }

  async #settle<T>(
    call: Call,
    round: Invocation<T>,
    journal: Journal,
    ctx: Context,
    outcome: Unfinished,
  ): Promise<string> {
    switch (outcome.kind) {
      case 'complete':
        return this.#settleExplicit(call, round, journal, ctx, outcome.value)
      case 'failed':
        if (round.rescue === undefined) throw outcome.error
        return this.#options.results.complete(round.rescue(outcome.error), call.peer, Context.stateMeta(ctx))
      case 'asked':
        return this.#ask(call, round.subject, journal, ctx, outcome.requests)
      case 'detached':
        if (round.detach === undefined) throw new TypeError('This call cannot become a task.')
        return round.detach(journal)
      default:
        return outcome satisfies never
    }
  }

  async #settleExplicit<T>(
    call: Call,
    round: Invocation<T>,
    journal: Journal,
    ctx: Context,
    asked: InputRequired,
  ): Promise<string> {
    for (const request of asked.inputRequests.values()) assertAskable(call, request)
    journal.own = asked.requestState
    if (call.peer.takesInputRequired) return this.#ask(call, round.subject, journal, ctx, asked.inputRequests)
    return this.play(await answeredInPlace(call, journal, asked.inputRequests), round, ctx.state)
  }

  async #ask(
    call: Call,
    subject: Subject,
    journal: Journal,
    ctx: Context,
    requests: ReadonlyMap<string, InputRequest>,
  ): Promise<string> {
    const { carrier, results, maxRounds } = this.#options
    if (journal.round + 1 >= maxRounds) throw roundsExhausted(maxRounds)
    call.observer?.asked()
    const stateless = requests.size > 0 && isBlank(journal)
    const requestState = stateless ? undefined : await carrier.save(call, subject, journal)
    return results.inputRequired(requests, requestState, call.peer, Context.stateMeta(ctx))
  }

  #newRun(call: Call, journal: Journal, { name }: Subject, detachable: boolean): Run {
    const { ledger, load, maxAsks, unwindMs, watch, logger } = this.#options
    return new Run({
      journal,
      claimSeconds: this.#options.claimSeconds,
      ledger,
      maxAsks,
      unwindMs,
      watch,
      responses: (call.params['inputResponses'] as Json | undefined) ?? {},
      push: call.peer.takesInputRequired ? undefined : (key, request) => pushOn(call, journal, key, request),
      assertAskable: (request) => assertAskable(call, request),
      shedding: () => load.shedding(),
      later: setImmediate,
      detachable,
      ...reports(call, name, logger),
    })
  }
}

/** What a handler does wrong and an operator should know of. */
export function reports({ method }: Call, name: string, logger: () => Logger) {
  return {
    onUnawaited: (keys: readonly string[]) =>
      logger().warn({ method, name, keys }, 'A handler returned without awaiting what it asked; nobody was asked.'),
    onStuck: () =>
      logger().warn({ method, name }, 'A handler did not return after its round had ended; let RoundEnded pass.'),
  }
}

/** Session-era clients without rounds are asked in place, on the stream of the request itself. */
function pushOn(call: Call, journal: Journal, key: string, request: InputRequest): Promise<unknown> {
  const { channel } = call
  if (channel.push === undefined)
    throw new ProtocolError('MESSAGE_INVALID', 'This connection cannot carry a question to the client.')
  return channel.push(request, { key, id: journal.id, body: () => writeJournal(journal) })
}

/** The next round of a handler in explicit style, for a client that is asked in place. */
async function answeredInPlace(
  call: Call,
  journal: Journal,
  requests: ReadonlyMap<string, InputRequest>,
): Promise<Call> {
  if (journal.round + 1 >= MAX_ROUNDS_IN_PLACE) throw roundsExhausted(MAX_ROUNDS_IN_PLACE)
  const answers = Array.from(
    requests,
    async ([key, request]) => [key, await pushOn(call, journal, key, request)] as const,
  )
  const inputResponses = Object.fromEntries(await Promise.all(answers))
  return { ...call, params: { ...call.params, inputResponses }, revived: nextRound(journal) }
}

export function roundsExhausted(rounds: number): JournalError {
  return new JournalError(
    'ROUNDS_EXHAUSTED',
    `The call still asked for input after ${rounds} rounds. A question whose text changes each time is asked for ever.`,
  )
}

function assertResponses(responses: unknown): void {
  if (responses !== undefined && !isObject(responses))
    throw new ProtocolError('PARAMS_INVALID', '"inputResponses" must be an object.')
}
