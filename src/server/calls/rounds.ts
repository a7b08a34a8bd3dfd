/**
 * Rounds of calls that may ask (tools/call, prompts/get, resources/read). One request is one round: the journal it
 * brings is opened, the handler runs over it, and the answer is a result or the next questions.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { type Journal, nextRound, type Run, type Watch, writeJournal } from '../../journal/index.ts'
import { isObject, type Json, ProtocolError } from '../../protocol/index.ts'
import type { Ledger } from '../../state/stores/index.ts'
import type { Approval } from '../auth/approval.ts'
import type { Call, Caller, CallObserver, Peer } from '../call.ts'
import type { ClientState } from '../handler/clientState.ts'
import { Context, DetachableContext } from '../handler/context.ts'
import { assertAskable, askableCheck, isAskable, isForm } from '../handler/askable.ts'
import { InputRequired } from '../handler/questions.ts'
import type { Load } from '../lifecycle/load.ts'
import { type Logger, shortened } from '../logger.ts'
import type { Results } from '../results.ts'
import { type CallResult, handlerCall, type MiddlewareChain, UnwrittenResults } from './middleware.ts'
import {
  assertResponses,
  assertRoundLeft,
  callersApproval,
  type HandlerRun,
  needsState,
  runHandler,
  type RunSetup,
  sharedClaims,
} from './runHandler.ts'
import type { Carrier, Subject } from './carrier.ts'
import type { CallLifetime } from './lifetime.ts'

/** The default number of rounds of one call. */
export const MAX_ROUNDS = 256
const MAX_ROUNDS_IN_PLACE = 64

export interface RoundRunnerOptions {
  readonly carrier: Carrier
  readonly ledger: Ledger
  /** The audience of the server's seals: several servers may have one ledger. */
  readonly audience: string
  readonly load: Load
  readonly results: Results
  readonly middleware: MiddlewareChain
  /** Absent if callers are not known. */
  readonly approval: Approval | undefined
  readonly maxAsks: number
  readonly maxRounds: number
  readonly lifetime: CallLifetime
  readonly unwindMs: number
  readonly watch: Watch | undefined
  readonly logger: () => Logger
}

/** How a method runs its handler and handles the result. */
export interface Invocation<T> {
  readonly subject: Subject
  readonly invoke: (ctx: DetachableContext) => T | InputRequired | Promise<T | InputRequired>
  /** The result of a finished call. */
  readonly finish: (value: T) => Json | Promise<Json>
  /** The result of a handler that threw, if that is a result and not an error. */
  readonly rescue?: (error: unknown) => Json
  /** Whether the tool runs as a task with clients that support tasks. */
  readonly hasTaskOption?: boolean
  /** Turns the call into a task, if its handler may do that. Returns the text of the result. */
  readonly detach?: ((journal: Journal) => Promise<string>) | undefined
  /** Lets the call wait for a person if its client cannot ask. */
  readonly wait?: WaitElsewhere | undefined
}

/**
 * Gives the text of the result, or pages that the person is to open first. `responses`: the outcomes of these pages;
 * absent if nothing can be asked.
 */
export type WaitElsewhere = (journal: Journal, responses?: Json) => Promise<string | ReadonlyMap<string, InputRequest>>

type RoundOptions = RoundRunnerOptions & { readonly check: ReturnType<typeof askableCheck> }

export class RoundRunner {
  readonly #options: RoundOptions

  constructor(options: RoundRunnerOptions) {
    this.#options = { ...options, check: askableCheck(options.logger) }
  }

  /** Gives the text of the result. */
  run<T>(call: Call, invocation: Invocation<T>): string | Promise<string> {
    const { results, middleware } = this.#options
    if (middleware.isEmpty) return runHandler(new CallRound(call, invocation, this.#options, results))
    return this.#wrapped(call, invocation)
  }

  /** Makes a task of a call before its handler runs. `create` gives the text of the result. */
  async createTask(call: Call, subject: Subject, create: (journal: Journal) => Promise<string>): Promise<string> {
    const { results, middleware } = this.#options
    const journal = await this.#openForTask(call, subject)
    const made = async (): Promise<string> => {
      if (middleware.isEmpty) return create(journal)
      const unwritten = new UnwrittenResults(results, call)
      const task = async (): Promise<CallResult> => unwritten.task(await create(journal))
      return unwritten.write(await middleware.run(handlerCall(call, subject, journal), task))
    }
    return call.observer === undefined ? made() : call.observer.opened(journal, made)
  }

  async #wrapped<T>(call: Call, invocation: Invocation<T>): Promise<string> {
    const { results, middleware } = this.#options
    const unwritten = new UnwrittenResults(results, call)
    const round = new CallRound(call, invocation, this.#options, unwritten)
    const result = await runHandler(round, (journal, run) =>
      middleware.run(handlerCall(call, invocation.subject, journal), run),
    )
    return unwritten.write(result)
  }

  /** The journal of a call that becomes a task at once: empty, or with the answers to an earlier round. */
  async #openForTask(call: Call, subject: Subject): Promise<Journal> {
    const { inputResponses } = call.params
    assertResponses(inputResponses)
    const journal = await this.#options.carrier.open(call, subject)
    for (const [key, { question }] of journal.open) {
      const response = Object.hasOwn(inputResponses ?? {}, key) ? inputResponses?.[key] : undefined
      if (isObject(response)) journal.answers.set(key, { question, response })
    }
    return journal
  }
}

/** The destination of a round's results. Without middlewares they are written at once. */
interface RoundResults<R> {
  complete(result: Json, peer: Peer, meta?: Json): R
  inputRequired(
    requests: ReadonlyMap<string, InputRequest>,
    requestState: string | undefined,
    peer: Peer,
    meta?: Json,
  ): R
  task(text: string): R
}

/** One round of a call. */
class CallRound<T, R> implements HandlerRun<T | InputRequired, R> {
  readonly #call: Call
  readonly #invocation: Invocation<T>
  readonly #options: RoundOptions
  readonly #results: RoundResults<R>
  /** Client-side state that an earlier round of the same request has set, where rounds run in place. */
  readonly #state: ClientState | undefined
  #ctx: DetachableContext | undefined
  /** Who called or, once a question was answered in place, the same principal as that answer came with. */
  #caller: Pick<Call, 'principal'>

  constructor(
    call: Call,
    invocation: Invocation<T>,
    options: RoundOptions,
    results: RoundResults<R>,
    state?: ClientState,
  ) {
    this.#call = call
    this.#caller = call
    this.#invocation = invocation
    this.#options = options
    this.#results = results
    this.#state = state
  }

  get observer(): CallObserver | undefined {
    return this.#call.observer
  }

  open(): Journal | Promise<Journal> {
    assertResponses(this.#call.params['inputResponses'])
    const { resumed } = this.#call
    if (resumed === undefined) return this.#options.carrier.open(this.#call, this.#invocation.subject)
    this.#options.lifetime.assertAlive(resumed)
    return resumed
  }

  setup(journal: Journal): RunSetup {
    const call = this.#call
    const { ledger, load, maxAsks, unwindMs, watch, logger, lifetime, check } = this.#options
    const about = { method: call.method, name: shortened(this.#invocation.subject.name) }
    return {
      about,
      claimSeconds: lifetime.claimSeconds,
      isStopped: () => call.channel.cancelled,
      ledger,
      shared: sharedClaims(call, this.#invocation.subject.name, this.#options),
      maxAsks,
      unwindMs,
      watch: call.observer === undefined ? watch : call.observer.watch(watch),
      logger,
      responses: (call.params['inputResponses'] as Json | undefined) ?? {},
      push: call.peer.takesInputRequired ? undefined : (key, request) => this.#push(journal, key, request),
      assertAskable: (request) => check(call, request, about, journal),
      waitsFor: this.#invocation.wait && ((request) => isForm(request) && !isAskable(call, request)),
      ...callersApproval(() => this.#caller, this.#options),
      shedding: () => load.shedding(),
      onHandOff: () => load.handOff(call.channel),
      onRefused: () => call.observer?.answerRefused(),
      detachable: this.#invocation.detach !== undefined,
      hasTaskOption: this.#invocation.hasTaskOption ?? false,
    }
  }

  invoke(run: Run, journal: Journal): T | InputRequired | Promise<T | InputRequired> {
    this.#ctx = new DetachableContext(this.#call, run, journal.own, this.#state)
    return this.#invocation.invoke(this.#ctx)
  }

  complete(value: T | InputRequired, journal: Journal): R | Promise<R> {
    if (value instanceof InputRequired) return this.#askedExplicitly(value, journal)
    // A handler may return no result, or one that cannot be sent.
    try {
      const finished = this.#invocation.finish(value)
      if (!(finished instanceof Promise)) return this.#completed(finished)
      return finished.then((result) => this.#completed(result)).catch((error: unknown) => this.failed(error))
    } catch (error) {
      return this.failed(error)
    }
  }

  failed(error: unknown): R {
    const { rescue } = this.#invocation
    if (rescue === undefined) throw error
    return this.#completed(rescue(error))
  }

  async asked(requests: ReadonlyMap<string, InputRequest>, journal: Journal): Promise<R> {
    const { carrier, maxRounds } = this.#options
    assertRoundLeft(journal, maxRounds)
    this.observer?.asked(requests, journal)
    const requestState = needsState(requests, journal)
      ? await carrier.save(this.#call, this.#invocation.subject, journal, requests.values())
      : undefined
    return this.#results.inputRequired(requests, requestState, this.#call.peer, this.#stateMeta)
  }

  async detached(journal: Journal): Promise<R> {
    const { detach, wait } = this.#invocation
    if (detach !== undefined) return this.#results.task(await detach(journal))
    if (wait === undefined) throw new TypeError('This call cannot become a task.')
    return this.#waited(journal, wait, this.#call.params['inputResponses'] as Json | undefined)
  }

  /** The call waits elsewhere. Its next round finds the stored journal by its id. */
  async #waited(journal: Journal, wait: WaitElsewhere, responses: Json = {}): Promise<R> {
    const waiting = await wait(journal, responses)
    if (typeof waiting === 'string') return this.#results.task(waiting)
    if (!this.#call.peer.takesInputRequired) return this.#waited(journal, wait, await this.#pushAll(journal, waiting))
    const { carrier, maxRounds } = this.#options
    assertRoundLeft(journal, maxRounds)
    const requestState = await carrier.save(this.#call, this.#invocation.subject, journal, waiting.values())
    return this.#results.inputRequired(waiting, requestState, this.#call.peer, this.#stateMeta)
  }

  /** A handler in explicit style returned its questions. */
  async #askedExplicitly(asked: InputRequired, journal: Journal): Promise<R> {
    for (const request of asked.inputRequests.values()) assertAskable(this.#call, request)
    journal.own = asked.requestState
    if (this.#call.peer.takesInputRequired) return this.asked(asked.inputRequests, journal)
    const next = await this.#answeredInPlace(journal, asked.inputRequests)
    return runHandler(new CallRound(next, this.#invocation, this.#options, this.#results, this.#ctx?.state))
  }

  /**
   * Session-era clients that take no `input_required` results are asked in place, on the stream of the request itself.
   */
  #push(journal: Journal, key: string, request: InputRequest): Promise<unknown> {
    const { channel } = this.#call
    const { push } = channel
    if (push === undefined)
      throw new ProtocolError('MESSAGE_INVALID', 'This connection cannot carry a question to the client.')
    this.#options.lifetime.begin(journal)
    const { carry } = this.#invocation.subject
    const onAnswer = (answerer: Caller): void => {
      this.#caller = answerer
    }
    const carried = { key, id: journal.id, carry, body: () => writeJournal(journal), onAnswer }
    const send = (sent: InputRequest): Promise<unknown> => push.call(channel, sent, carried)
    return this.observer === undefined ? send(request) : this.observer.pushed(key, request, send, journal)
  }

  /** The next round of a handler in explicit style, for a client that is asked in place. */
  async #answeredInPlace(journal: Journal, requests: ReadonlyMap<string, InputRequest>): Promise<Call> {
    assertRoundLeft(journal, MAX_ROUNDS_IN_PLACE)
    const inputResponses = await this.#pushAll(journal, requests)
    const call = this.#call
    return { ...call, params: { ...call.params, inputResponses }, resumed: nextRound(journal) }
  }

  async #pushAll(journal: Journal, requests: ReadonlyMap<string, InputRequest>): Promise<Json> {
    const answers = Array.from(
      requests,
      async ([key, request]) => [key, await this.#push(journal, key, request)] as const,
    )
    return Object.fromEntries(await Promise.all(answers))
  }

  #completed(result: Json): R {
    return this.#results.complete(result, this.#call.peer, this.#stateMeta)
  }

  get #stateMeta(): Json | undefined {
    return this.#ctx && Context.stateMeta(this.#ctx)
  }
}
