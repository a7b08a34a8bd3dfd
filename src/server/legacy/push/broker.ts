/**
 * Pushes questions to session-era clients, and lets calls wait for the answers, which answerTaker.ts takes. When a call
 * ends, its open questions end with it; when the process stops, another instance gets them.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { readJournal, ScopeClosed } from '../../../journal/index.ts'
import { type ResponseMessage, unref } from '../../../protocol/index.ts'
import type { Ledger } from '../../../state/stores/index.ts'
import type { Call, Caller, CarriedCall } from '../../call.ts'
import type { EventBus } from '../../lifecycle/eventBus.ts'
import { errorDetails } from '../../logger.ts'
import { Claims, type Instance, type Owners, type Self } from '../../../cluster/index.ts'
import { newId } from '../../binding.ts'
import { AnswerTaker, type Taken } from './answerTaker.ts'
import { Departure, type DepartureOptions } from './departure.ts'
import { quotaCaller } from '../../limits/quotaCaller.ts'
import type { CallHandOff, ResumedCall } from './handOff.ts'
import type { PushedCall } from './pushedCall.ts'
import { type PushedQuestion, type PushElsewhere, type PushWay, withdrawal } from './pushWay.ts'
import { PushStates, type PushStatesOptions, type PushStream } from './state.ts'
import { QuestionIds } from './questionIds.ts'
import { WaitingCalls, type WaitingCallsOptions } from './waitingCalls.ts'

export interface PushBrokerOptions
  extends PushStatesOptions,
    WaitingCallsOptions,
    Pick<DepartureOptions, 'canHandOff' | 'handOff' | 'cancel'> {
  /** This process. */
  readonly self: Self
  /** The configured bus to other instances, if any. */
  readonly bus: EventBus | undefined
  /** Shared by all instances. */
  readonly ledger: Ledger
  readonly owners: Owners
}

const NONE: ReadonlySet<string> = new Set()
// A killed process may accept connections for a moment after another instance has found it gone.
const ENDED_WITHIN_MS = 500
// Maximum duration of a hand-off, in which the call does not repeat its questions.
const HAND_OFF_MS = 15_000
/**
 * Maximum size of the parameters of a call that has states, so that larger ones are not serialized and sealed in vain.
 */
const MAX_CARRIED_CHARS = 1024 * 1024

export class PushBroker {
  readonly #options: PushBrokerOptions
  readonly #states: PushStates
  readonly #ids: QuestionIds
  readonly #generations: Claims
  readonly #calls: WaitingCalls
  readonly #answers: AnswerTaker
  readonly #departure: Departure
  #askingAgain: ReturnType<typeof setTimeout> | undefined
  /** When an instance crashed last. */
  #crashedAt = Number.NEGATIVE_INFINITY

  constructor(options: PushBrokerOptions) {
    this.#options = options
    this.#states = new PushStates(options)
    this.#ids = new QuestionIds(options.sealer, options.self)
    this.#generations = new Claims(options)
    this.#calls = new WaitingCalls(options, (question) => this.#forget(question))
    this.#answers = new AnswerTaker({
      ...options,
      calls: this.#calls,
      states: this.#states,
      ids: this.#ids,
      generations: this.#generations,
    })
    this.#departure = new Departure({ ...options, calls: this.#calls })
    options.owners.add({ has: (call) => this.has(call) })
  }

  /** Whether this client may repeat its answer, from which another instance could resume a call of `instance`. */
  mayAnswerAgain(instance: Instance, caller: Caller): boolean {
    return this.#states.mayEcho(caller) && this.#answers.mayResume(instance)
  }

  /** The stored call on this stream that waits for an answer and whose instance is gone. */
  async stored(question: string, stream: string, asker: Instance, caller: Caller): Promise<CallHandOff | undefined> {
    if (!this.#answers.mayResume(asker)) return undefined
    const { state } = (await this.#states.readStored(question, caller)) ?? {}
    if (state?.id === undefined || state.stream !== stream) return undefined
    const { call, generation, request, journal, key, id } = state
    return { call, generation, carried: true, request, journal, questions: [{ key, question, id, mayBeLost: true }] }
  }

  /** Sends a question and waits for its answer. `stream`: the stream of the result. */
  async push(
    call: Call,
    request: InputRequest,
    carried: CarriedCall,
    stream: PushStream,
    way: PushWay,
  ): Promise<unknown> {
    const { id: name, key } = carried
    const asking = this.#calls.get(name) ?? this.#calls.enter(name, 0)
    const early = asking.earlier.takeAnswer(carried)
    if (early !== undefined) return early
    if (asking.ended) throw new ScopeClosed(`The question "${key}"`)
    this.#calls.makeRoomFor(asking, call)
    const isCarried = asking.cost.chars <= MAX_CARRIED_CHARS && this.#states.carries(request, call, carried)
    asking.claims.carried ||= isCarried
    asking.move.isBound ||= carried.isBound === true
    if (way.elsewhere !== undefined && !asking.move.isBound) this.#prepare(asking, call, carried, way.elsewhere)
    const answer = await this.#ask(asking, { call, request, carried, isCarried, stream, way })
    this.#departure.waits(asking)
    return answer.promise
  }

  /** Sends the question, unless another instance has done so before. */
  async #ask(asking: PushedCall, asked: PushedQuestion): Promise<{ readonly promise: Promise<unknown> }> {
    const { call, carried, isCarried, stream, way } = asked
    const { key, mayAnswer, onAnswer } = carried
    const { generation } = asking.claims
    const { ttlSeconds } = this.#options
    const notAsked = (error: unknown): void =>
      this.#options.logger().warn({ err: errorDetails(error) }, 'A question could not be asked again.')
    const askAgain = way.elsewhere && (() => void this.#askAgain(asking, asked).catch(notAsked))
    const withdraw = (requestId: string): void => way.send(withdrawal(requestId))
    const of = { caller: call, key, mayAnswer, onAnswer, isCarried }
    const waiting = { ...of, generation, stream, ttlSeconds, askAgain, withdraw }
    const resumed = asking.earlier.takeResumed(key)
    if (resumed !== undefined) {
      const promise = asking.open.wait(resumed.question, { ...waiting, id: resumed.id })
      if (resumed.mayBeLost || this.#options.clock() - this.#crashedAt < HAND_OFF_MS) askAgain?.()
      return { promise }
    }
    const { question, id, message } = await this.#write(asking, asked)
    await asking.move.newOwner // the new owner may resume the call and ask this itself
    if (asking.ended) throw new ScopeClosed(`The question "${key}"`)
    this.#calls.makeRoomFor(asking, call) // again, because other calls may have come in the meantime
    const promise = asking.open.wait(question, { ...waiting, id })
    try {
      way.send(message)
    } catch (error) {
      asking.open.fail(question, error as Error) // no answer will come
    }
    return { promise }
  }

  async #askAgain(asking: PushedCall, asked: PushedQuestion): Promise<void> {
    const { question, id, message } = await this.#write(asking, asked)
    // The question may have been answered by now.
    if (asking.move.newOwner !== undefined) return
    const before = asking.open.waitAlso(asked.carried.key, question, { id, generation: asking.claims.generation })
    if (before === undefined) return
    asked.way.send(withdrawal(before), message) // in one write, or a client may be left with no question to answer
  }

  async #write(
    { name, claims: { generation } }: PushedCall,
    { call, request, carried, isCarried, stream }: PushedQuestion,
  ) {
    const question = newId()
    const id = this.#ids.write(question, name, call)
    const asking = isCarried ? { ...carried, generation } : undefined
    const message = await this.#states.write({ id, question }, request, call, asking, stream)
    return { question, id, message }
  }

  /** Repeats the questions after an instance has crashed, perhaps with an answer that it was about to forward here. */
  askAgain(): void {
    this.#crashedAt = this.#options.clock()
    clearTimeout(this.#askingAgain)
    const ask = (): void => this.#calls.movable().forEach((asking) => asking.open.askAgain())
    this.#askingAgain = unref(setTimeout(ask, ENDED_WITHIN_MS))
  }

  /**
   * Handles that others took this process for gone. Calls that they have resumed are left to them; the questions of the
   * rest are repeated, since their answers may have been refused.
   */
  async reclaim(): Promise<void> {
    await this.#answers.reclaim()
    this.askAgain()
  }

  /**
   * Marks a call that waits for something other than an answer, for which any instance could wait. Returns the function
   * that ends this.
   */
  waitAnywhere(call: Call, carried: Omit<CarriedCall, 'key'>, elsewhere: PushElsewhere): () => void {
    const asking = this.#calls.get(carried.id) ?? this.#calls.enter(carried.id, 0)
    this.#prepare(asking, call, carried, elsewhere)
    asking.waitsAnywhere = true
    this.#departure.waits(asking)
    return () => {
      asking.waitsAnywhere = false
    }
  }

  /**
   * Takes an answer. `gone`: the instances that did not answer. Throws if the answer brings another state than was
   * sent.
   */
  take(response: ResponseMessage, caller: Caller, gone: ReadonlySet<string> = NONE): Promise<Taken> {
    return this.#answers.take(response, caller, gone)
  }

  /** Ends a call; returns the ids of its questions that no longer need an answer. */
  end(name: string): readonly string[] {
    const asking = this.#calls.get(name)
    if (asking === undefined) return []
    this.#calls.remove(asking)
    if (asking.claims.carried && !asking.move.isOver)
      void this.#answers.decide(name, () =>
        this.#generations.end(name, asking.claims.generation, asking.cost.caller || undefined),
      )
    return asking.end()
  }

  /** Drains before the process ends: hands off each waiting call; when the signal aborts, the rest fail. */
  drain(patience: AbortSignal): Promise<void> {
    return this.#departure.begin(patience)
  }

  /** Resumes a call of another instance, unless a third one has. Repeats only questions whose answers may be lost. */
  resume(handedOff: CallHandOff, stream: string, caller: Caller): Promise<ResumedCall | undefined> {
    return this.#answers.decide(handedOff.call, () => this.#resume(handedOff, stream, caller))
  }

  async #resume(handedOff: CallHandOff, stream: string, caller: Caller): Promise<ResumedCall | undefined> {
    const { call, generation, carried, request, journal, questions } = handedOff
    if (this.has(call)) return undefined
    // The claim stops an instance that finds only the call's state from resuming it as well.
    const claimant = carried ? await this.#generations.claim(call, generation, quotaCaller(caller)) : 'fresh'
    // An instance that hands a call off has not claimed it; one that was killed may have.
    const isHandedOff = !questions.some(({ mayBeLost }) => mayBeLost)
    const { owners, self } = this.#options
    const isOther = typeof claimant === 'object' && claimant.id !== self.id
    if (isOther && owners.get(stream) === undefined) owners.note([stream], claimant)
    if (claimant !== 'fresh' && !(claimant === 'unknown' && isHandedOff)) return undefined
    if (carried) for (const { question } of questions) this.#states.inherit(question)
    owners.note([call], self)
    this.#calls.enter(call, carried ? generation + 1 : generation).earlier.resume(questions)
    return { ...request, stream, journal: readJournal(call, 0, journal) }
  }

  /** Whether this instance has the call. */
  has(call: string): boolean {
    return this.#calls.get(call) !== undefined
  }

  /** The name of the call whose question is answered. */
  callOf(response: ResponseMessage, caller: Caller): string | undefined {
    return this.#ids.read(response.id, caller)?.call
  }

  /** Whether this instance, or one that is not `gone`, is known to have the call, which may move repeatedly. */
  isAwaited(call: string, gone: ReadonlySet<string>): boolean {
    const owner = this.#options.owners.get(call)
    return this.has(call) || (owner !== undefined && !gone.has(owner.id))
  }

  get isDraining(): boolean {
    return this.#departure.hasBegun
  }

  /** Sets how the call is handed off when this process stops. */
  #prepare(asking: PushedCall, call: Call, carried: Omit<CarriedCall, 'key'>, way: PushElsewhere): void {
    asking.move.snapshot = () => ({
      caller: { peer: call.peer, principal: call.principal, address: call.address },
      ...way.contents(),
      call: {
        call: carried.id,
        generation: asking.claims.generation,
        carried: asking.claims.carried,
        request: { id: call.id, method: call.method, params: call.params },
        journal: carried.body(),
        questions: asking.open.list(),
      },
    })
    asking.move.onOver = () => way.handOff()
  }

  #forget(question: string): void {
    this.#states.forget(question).catch((error: unknown) => {
      this.#options.logger().warn({ err: errorDetails(error) }, 'The store could not delete the state of a question.')
    })
  }
}
