/**
 * Takes the answers to pushed questions, and decides where their calls go on.
 *
 * - The id of a question names, sealed, the instance that asked. Its answer belongs there, wherever it comes in.
 * - Only when that instance is gone may another go on with the call: from the state that the answer brings (SEP-1685)
 *   or that lies in the store. Without one the call is lost with its instance, and whoever answers is told.
 * - Each answer that lets a call go on is claimed once, under the call's generation, by the instance that goes on: in
 *   place or elsewhere. So a call never forks, however many answers come, where, and how often.
 */
import { readJournal } from '../../../journal/index.ts'
import type { ResponseMessage } from '../../../protocol/index.ts'
import type { Caller } from '../../call.ts'
import type { EventBus } from '../../lifecycle/eventBus.ts'
import { holderOf } from '../../limits/holders.ts'
import type { Instance, Self } from '../../replicas/instance.ts'
import { bareResult } from './answer.ts'
import type { Generations } from './generations.ts'
import type { RevivedCall } from './handOver.ts'
import type { PushedCall } from './pushedCall.ts'
import { PushRelay } from './relay.ts'
import type { BroughtState, PushState, PushStates, PushStatesOptions } from './state.ts'
import type { QuestionIds } from './questionIds.ts'
import type { WaitingCalls } from './waitingCalls.ts'

/** What becomes of an answer. */
export type Taken =
  /** The call goes on where it is, or has ended. */
  | { readonly kind: 'settled' }
  /** The call goes on here, and whoever asks has to run it. */
  | { readonly kind: 'revived'; readonly call: RevivedCall; readonly state: PushState }
  /** The answer belongs to that instance. */
  | { readonly kind: 'elsewhere'; readonly instance: Instance }
  /** This instance is being stopped, and has left the call to whoever can go on with it. */
  | { readonly kind: 'left' }
  /** The instance that asked is gone, and nobody can go on with the call. */
  | { readonly kind: 'lost'; readonly state?: PushState }
  /** The call came to its end at an instance that is gone, or here; its client may not know. */
  | { readonly kind: 'ended'; readonly state: PushState }
  /** The instance that asked has no address that this one knows, and they share no bus. */
  | { readonly kind: 'unreachable' }

export interface AnswerTakerOptions extends Pick<PushStatesOptions, 'sealer' | 'clock' | 'logger'> {
  readonly self: Self
  readonly bus: EventBus | undefined
  readonly calls: WaitingCalls
  readonly states: PushStates
  readonly ids: QuestionIds
  readonly generations: Generations
  /** The instance that a call with this question went to while it waited. */
  readonly movedTo: (question: string) => Instance | undefined
}

interface ArrivedAnswer {
  /** The name of the question. */
  readonly question: string
  readonly response: ResponseMessage
  /** The state that came with it. */
  readonly echo: BroughtState | undefined
}

const SETTLED: Taken = { kind: 'settled' }
const LOST: Taken = { kind: 'lost' }
const TWICE = 'An answer came twice, or from somebody who may not give it any more.'

export class AnswerTaker {
  readonly #options: AnswerTakerOptions
  readonly #relay: PushRelay | undefined
  /** Calls that this instance is about to revive, by name. */
  readonly #reviving = new Map<string, Promise<Taken>>()

  constructor(options: AnswerTakerOptions) {
    this.#options = options
    const { bus, sealer, calls, clock } = options
    const callerOf = (question: string) => calls.askerOf(question)?.callerOf(question)
    const take = async (question: string, response: ResponseMessage, answerer: Caller): Promise<boolean> =>
      (await this.#takeHere({ question, response, echo: undefined }, answerer))?.kind === 'settled'
    this.#relay = bus && new PushRelay({ bus, sealer, callerOf, take, clock })
  }

  /** Takes an answer. `gone` are the instances that did not answer. Throws when its state is not what was sent. */
  async take(response: ResponseMessage, caller: Caller, gone: ReadonlySet<string>): Promise<Taken> {
    const { self, ids, states, movedTo } = this.#options
    const asked = ids.read(response.id, caller)
    // ST-8: a state is validated wherever it comes back, even if its question still waits in this process.
    const echo = await states.readEcho(response, asked?.question, caller)
    if (asked === undefined) return this.#ignore('An answer came to a question that was never asked.')
    const { question } = asked
    const answer: ArrivedAnswer = { question, response, echo }
    const taken = (await this.#takeHere(answer, caller)) ?? (await this.#takeAdopted(answer, caller))
    if (taken !== undefined) return taken
    const instance = movedTo(question) ?? asked.instance
    if (instance.id === self.id) {
      if (this.#options.calls.isLeft(question)) return { kind: 'left' }
      return this.#ignore('An answer came to a question that nobody waits for.')
    }
    if (instance.url !== undefined && !gone.has(instance.id)) return { kind: 'elsewhere', instance }
    return this.#takeFrom(instance, answer, caller, gone)
  }

  /** Whether it can be known that this instance is gone, so that another may go on with its calls. */
  mayRevive({ url }: Instance): boolean {
    return url !== undefined || this.#relay !== undefined
  }

  /** An answer to a question of this process; undefined when the question is not open. */
  async #takeHere(answer: ArrivedAnswer, caller: Caller): Promise<Taken | undefined> {
    const { question } = answer
    const asking = this.#options.calls.askerOf(question)
    const asked = asking?.callerOf(question)
    if (asked !== undefined && !isSameCaller(asked, caller))
      return this.#ignore('An answer came from another session than the question went to.')
    if (asking?.accepts(question, caller) === false)
      return this.#ignore('An answer came from somebody who may not give it any more.')
    return this.#settleHere(answer, caller)
  }

  async #settleHere(answer: ArrivedAnswer, caller: Caller): Promise<Taken | undefined> {
    const asking = this.#options.calls.askerOf(answer.question)
    return asking?.arrive(this.#settle(asking, answer, caller))
  }

  async #settle(asking: PushedCall, { question, response, echo }: ArrivedAnswer, caller: Caller): Promise<Taken> {
    const report = await this.#options.states.examine(echo)
    const movedTo = asking.handingOver && (await asking.handingOver)
    if (movedTo !== undefined) return { kind: 'elsewhere', instance: movedTo }
    const other = asking.carried
      ? await asking.advance(question, (generation) => this.#advance(asking, generation))
      : undefined
    if (other !== undefined) this.#options.calls.leave(asking)
    else if (asking.settle(question, response, caller)) report()
    return other === undefined ? SETTLED : { kind: 'elsewhere', instance: other }
  }

  /** Claims the next generation for this process; gives the instance that has it already, if one has. */
  async #advance({ name, holder }: PushedCall, generation: number): Promise<Instance | undefined> {
    const claimant = await this.#options.generations.claim(name, generation, holder || undefined)
    // Where the ledger cannot tell, the process that has the call goes on with it.
    if (typeof claimant === 'string' || claimant.id === this.#options.self.id) return undefined
    return claimant
  }

  /** An answer to a question of an instance that cannot be reached by its address. */
  async #takeFrom(
    instance: Instance,
    { question, response, echo }: ArrivedAnswer,
    caller: Caller,
    gone: ReadonlySet<string>,
  ): Promise<Taken> {
    const { states } = this.#options
    const report = await states.examine(echo)
    // An instance whose address leads nowhere may still be there.
    if (await this.#relay?.offer(question, response, caller)) {
      report()
      return SETTLED
    }
    if (!this.mayRevive(instance)) return { kind: 'unreachable' }
    const brought = echo ?? (await states.readStored(question, caller))
    if (brought === undefined) return LOST
    const taken = await this.#goOn(brought.state, response, caller, new Set([...gone, instance.id]))
    if (taken.kind === 'revived') report()
    if (echo === undefined) this.#inherit(question, brought.state)
    return taken
  }

  #inherit(question: string, { call }: PushState): void {
    const { calls, states } = this.#options
    const asking = calls.get(call)
    if (asking === undefined) return
    states.inherit(question)
    asking.earlier.inherit(question)
  }

  /** The instance that asked is gone: goes on from the state, where no other instance does. */
  async #goOn(state: PushState, response: ResponseMessage, caller: Caller, gone: ReadonlySet<string>): Promise<Taken> {
    const underWay = this.#reviving.get(state.call)
    if (underWay !== undefined) {
      const taken = await underWay
      if (taken.kind === 'elsewhere') return taken
    }
    const asking = this.#options.calls.get(state.call)
    if (asking !== undefined) {
      if (!asking.takeAnswer(state.key, response, caller)) this.#ignore(TWICE)
      return SETTLED
    }
    const reviving = this.#revive(state, response, caller, gone).finally(() => this.#reviving.delete(state.call))
    this.#reviving.set(state.call, reviving)
    return reviving
  }

  async #revive(
    state: PushState,
    response: ResponseMessage,
    caller: Caller,
    gone: ReadonlySet<string>,
  ): Promise<Taken> {
    const { call, key, request, stream } = state
    const journal = readJournal(call, 0, state.journal)
    const claimed = await this.#options.generations.claimAfter(call, state.generation, gone, holderOf(caller))
    if (claimed === 'unknown') return { kind: 'lost', state }
    if (typeof claimed === 'string' || (typeof claimed === 'object' && claimed.id === this.#options.self.id))
      return { kind: 'ended', state }
    if (typeof claimed === 'object') return { kind: 'elsewhere', instance: claimed }
    const asking = this.#options.calls.enter(call, claimed + 1)
    const result = bareResult(response)
    if (result === undefined) asking.takeAnswer(key, response, caller)
    else asking.earlier.markTaken(response.id)
    const params = { ...request.params, inputResponses: result === undefined ? {} : { [key]: result } }
    return { kind: 'revived', call: { id: request.id, method: request.method, params, stream, journal }, state }
  }

  async #takeAdopted({ question, response, echo }: ArrivedAnswer, caller: Caller): Promise<Taken | undefined> {
    const { calls, states } = this.#options
    const { asking, key } = calls.adopterOf(question) ?? {}
    if (asking === undefined || key === undefined) return undefined
    const report = await states.examine(echo)
    const movedTo = await asking.handingOver
    if (movedTo !== undefined) return { kind: 'elsewhere', instance: movedTo }
    if (calls.get(asking.name) !== asking) return undefined
    if (asking.takeAnswer(key, response, caller)) report()
    else this.#ignore(TWICE)
    return SETTLED
  }

  #ignore(why: string): Taken {
    this.#options.logger().debug({}, `${why} It was ignored.`)
    return SETTLED
  }
}

function isSameCaller(a: Caller, b: Caller): boolean {
  return a.peer.session === b.peer.session && a.principal?.id === b.principal?.id
}
