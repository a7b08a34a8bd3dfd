/**
 * Pushes questions to session-era clients, and lets calls wait for their answers. The answers themselves are taken in
 * answerTaker.ts. When a call ends, its open questions end with it; when the process stops, they go to another instance.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { readJournal, ScopeClosed } from '../../../journal/index.ts'
import type { ResponseMessage } from '../../../protocol/index.ts'
import { ExpiringMap, type Ledger } from '../../../state/stores/index.ts'
import type { Call, Caller, CarriedCall } from '../../call.ts'
import type { EventBus } from '../../lifecycle/eventBus.ts'
import { errorDetails } from '../../logger.ts'
import type { Instance, Self } from '../../replicas/instance.ts'
import { newId } from '../../binding.ts'
import { AnswerTaker, type Taken } from './answerTaker.ts'
import { Departure, type DepartureOptions } from './departure.ts'
import { holderOf } from '../../limits/holders.ts'
import { Generations } from './generations.ts'
import type { CallHandOver, RevivedCall } from './handOver.ts'
import type { PushedCall } from './pushedCall.ts'
import { type PushedQuestion, type PushElsewhere, type PushWay, withdrawal } from './pushWay.ts'
import { PushStates, type PushStatesOptions, type PushStream } from './state.ts'
import { QuestionIds } from './questionIds.ts'
import { WaitingCalls, type WaitingCallsOptions } from './waitingCalls.ts'

export interface PushBrokerOptions
  extends PushStatesOptions,
    WaitingCallsOptions,
    Pick<DepartureOptions, 'canHandOver' | 'handOver' | 'cancel'> {
  /** This process. */
  readonly self: Self
  /** A bus that reaches other instances, where one is configured. */
  readonly bus: EventBus | undefined
  /** Common to all instances. */
  readonly ledger: Ledger
}

const NONE: ReadonlySet<string> = new Set()

export class PushBroker {
  readonly #options: PushBrokerOptions
  readonly #states: PushStates
  readonly #ids: QuestionIds
  readonly #generations: Generations
  readonly #calls: WaitingCalls
  readonly #answers: AnswerTaker
  /** Questions of calls that went from one instance to another while they waited. */
  readonly #moved: ExpiringMap<Instance>
  readonly #departure: Departure

  constructor(options: PushBrokerOptions) {
    this.#options = options
    this.#states = new PushStates(options)
    this.#ids = new QuestionIds(options.sealer, options.self)
    this.#generations = new Generations(options)
    this.#calls = new WaitingCalls(options, (question) => this.#forget(question))
    this.#moved = new ExpiringMap(options.clock)
    this.#answers = new AnswerTaker({
      ...options,
      calls: this.#calls,
      states: this.#states,
      ids: this.#ids,
      generations: this.#generations,
      movedTo: (question) => this.#moved.get(question),
    })
    this.#departure = new Departure({
      ...options,
      calls: this.#calls,
      onMoved: ({ questions }, to) =>
        this.noteMoved(
          questions.map(({ question }) => question),
          to,
        ),
    })
  }

  /** Whether another instance can go on with a call of this client when this one, which has it, is gone. */
  mayRevive(instance: Instance, caller: Caller): boolean {
    return this.#states.mayCarry(caller) && this.#answers.mayRevive(instance)
  }

  /** Sends a question and waits for its answer. `stream` is where the result will go. */
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
    const isCarried = this.#states.carries(request, call, carried)
    asking.carried ||= isCarried
    asking.isBound ||= carried.isBound === true
    if (way.elsewhere !== undefined && !asking.isBound) this.#prepare(asking, call, carried, way.elsewhere)
    const answer = await this.#ask(asking, { call, request, carried, isCarried, stream, way })
    this.#departure.waits(asking)
    return answer.promise
  }

  /** Sends the question, unless another instance has done so before. */
  async #ask(asking: PushedCall, asked: PushedQuestion): Promise<{ readonly promise: Promise<unknown> }> {
    const { call, carried, isCarried, stream, way } = asked
    const { key, mayAnswer, onAnswer } = carried
    const { generation } = asking
    const { ttlSeconds } = this.#options
    const askAgain = way.elsewhere && (() => void this.#askAgain(asking, asked))
    const withdraw = (requestId: string): void => way.send(withdrawal(requestId))
    const of = { caller: call, key, mayAnswer, onAnswer, isCarried }
    const waiting = { ...of, generation, stream, ttlSeconds, askAgain, withdraw }
    const adopted = asking.earlier.takeAdopted(key)
    if (adopted !== undefined) {
      this.#calls.noteAsked(adopted.question, asking)
      return { promise: asking.wait(adopted.question, { ...waiting, id: adopted.id }) }
    }
    const { question, id, message } = await this.#write(asking, asked)
    if (asking.handingOver !== undefined) await asking.handingOver // where it may go on, and ask this
    if (asking.ended) throw new ScopeClosed(`The question "${key}"`)
    this.#calls.makeRoomFor(asking, call) // again, because other calls may have come meanwhile
    this.#calls.noteAsked(question, asking)
    const promise = asking.wait(question, { ...waiting, id })
    way.send(message)
    return { promise }
  }

  async #askAgain(asking: PushedCall, asked: PushedQuestion): Promise<void> {
    const { question, id, message } = await this.#write(asking, asked)
    // It may have been answered meanwhile.
    if (asking.handingOver !== undefined || !asking.waitAlso(asked.carried.key, question, id)) return
    this.#calls.noteAsked(question, asking)
    asked.way.send(message)
  }

  async #write({ generation }: PushedCall, { call, request, carried, stream }: PushedQuestion) {
    const question = newId()
    const id = this.#ids.write(question, call)
    const message = await this.#states.write({ id, question }, request, call, { ...carried, generation }, stream)
    return { question, id, message }
  }

  /** An instance is gone without a word, perhaps with an answer that it was about to forward here. */
  askAgain(): void {
    for (const asking of this.#calls.movable()) asking.askAgain()
  }

  /** The call waits for what any instance could wait for; gives the function to be called when it goes on. */
  waitAnywhere(call: Call, carried: Omit<CarriedCall, 'key'>, elsewhere: PushElsewhere): () => void {
    const asking = this.#calls.get(carried.id) ?? this.#calls.enter(carried.id, 0)
    this.#prepare(asking, call, carried, elsewhere)
    asking.waitsAnywhere = true
    this.#departure.waits(asking)
    return () => {
      asking.waitsAnywhere = false
    }
  }

  /** Takes an answer. `gone` are the instances that did not answer. Throws when its state is not what was sent. */
  take(response: ResponseMessage, caller: Caller, gone: ReadonlySet<string> = NONE): Promise<Taken> {
    return this.#answers.take(response, caller, gone)
  }

  /** The call is over; gives the ids of the questions that the client need not answer any more. */
  end(name: string): readonly string[] {
    const asking = this.#calls.get(name)
    if (asking === undefined) return []
    this.#calls.remove(asking)
    if (asking.carried && !asking.isHandedOver)
      this.#generations.end(name, asking.generation, asking.holder || undefined)
    return asking.end()
  }

  /** This process is about to end: every call that waits goes on at another instance, or is told when the signal aborts. */
  drain(patience: AbortSignal): Promise<void> {
    return this.#departure.begin(patience)
  }

  /** Goes on with a call of an instance that stops, if no other does: its questions are not asked again. */
  async adopt(handedOver: CallHandOver, stream: string, caller: Caller): Promise<RevivedCall | undefined> {
    const { call, generation, carried, request, journal, questions } = handedOver
    // From now on this instance goes on with the call, also for one that finds its state and knows nothing of this.
    const claimant = carried ? await this.#generations.claim(call, generation, holderOf(caller)) : 'fresh'
    if (claimant !== 'fresh' && claimant !== 'unknown') return undefined
    for (const { question } of questions) {
      this.#moved.delete(question)
      if (carried) this.#states.inherit(question)
    }
    this.#calls.adopt(call, carried ? generation + 1 : generation, questions)
    return { ...request, stream, journal: readJournal(call, 0, journal) }
  }

  /** Whether this call goes on here. */
  has(call: string): boolean {
    return this.#calls.get(call) !== undefined
  }

  /** Another instance goes on with the call that asked these. */
  noteMoved(questions: readonly string[], to: Instance): void {
    const { clock, ttlSeconds } = this.#options
    for (const question of questions) this.#moved.set(question, to, clock() + ttlSeconds * 1000)
  }

  /** The name of the question that is answered. */
  questionOf(response: ResponseMessage, caller: Caller): string | undefined {
    return this.#ids.read(response.id, caller)?.question
  }

  /** Whether this instance waits for an answer to a question that another one asked. */
  hasAdopted(question: string): boolean {
    return this.#calls.adopterOf(question) !== undefined
  }

  /** Whether this instance or one that is not `gone` is known to wait for the answer: a call may move again and again. */
  isAwaited(question: string, gone: ReadonlySet<string>): boolean {
    const instance = this.#moved.get(question)
    return this.hasAdopted(question) || (instance !== undefined && !gone.has(instance.id))
  }

  get isDraining(): boolean {
    return this.#departure.hasBegun
  }

  /** Notes how the call goes to another instance when this process stops. */
  #prepare(asking: PushedCall, call: Call, carried: Omit<CarriedCall, 'key'>, way: PushElsewhere): void {
    asking.snapshot = () => ({
      caller: { peer: call.peer, principal: call.principal, address: call.address },
      ...way.contents(),
      call: {
        call: carried.id,
        generation: asking.generation,
        carried: asking.carried,
        request: { id: call.id, method: call.method, params: call.params },
        journal: carried.body(),
        questions: asking.openQuestions(),
      },
    })
    asking.onHandOver = () => way.handOver()
  }

  #forget(question: string): void {
    this.#states.forget(question).catch((error: unknown) => {
      this.#options.logger().warn({ err: errorDetails(error) }, 'The store could not delete the state of a question.')
    })
  }
}
