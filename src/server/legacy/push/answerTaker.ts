/**
 * Takes the answers to pushed questions, and decides where their calls continue.
 *
 * - The sealed id of a question names the instance that asked. Its answer is forwarded there from any instance.
 * - Only when that instance is gone may another resume the call: from the state that the answer brings (SEP-1685), or
 *   from the store. Without a state the call is lost with its instance, and the answering client gets an error.
 * - The instance that continues a call claims the call's generation, once for each answer. So a call never forks,
 *   however many answers arrive at however many instances.
 */
import { readJournal } from '../../../journal/index.ts'
import type { ResponseMessage } from '../../../protocol/index.ts'
import type { Caller } from '../../call.ts'
import type { EventBus } from '../../lifecycle/eventBus.ts'
import { quotaCaller } from '../../limits/quotaCaller.ts'
import type { Claims, Instance, Owners, Self } from '../../../cluster/index.ts'
import { bareResult } from './answer.ts'
import type { ResumedCall } from './handOff.ts'
import type { PushedCall } from './pushedCall.ts'
import { PushRelay } from './relay.ts'
import type { BroughtState, PushState, PushStates, PushStatesOptions } from './state.ts'
import type { NamedQuestion, QuestionIds } from './questionIds.ts'
import type { WaitingCalls } from './waitingCalls.ts'

/** The outcome of an answer. */
export type Taken =
  /** The call continues at its owner, or has ended. */
  | { readonly kind: 'settled' }
  /** The call is resumed here, and the caller of this method must run it. */
  | { readonly kind: 'resumed'; readonly call: ResumedCall; readonly state: PushState }
  /** The answer belongs to that instance. */
  | { readonly kind: 'elsewhere'; readonly instance: Instance }
  /** This instance is stopping, and has left the call for another to resume. */
  | { readonly kind: 'left' }
  /** The instance that asked is gone, and no instance can resume the call. */
  | { readonly kind: 'lost'; readonly state?: PushState }
  /** The call has ended, here or at an instance that is gone. Its client may not know that. */
  | { readonly kind: 'ended'; readonly state: PushState }
  /** The instance that asked has no known address, and there is no common bus. */
  | { readonly kind: 'unreachable' }

export interface AnswerTakerOptions extends Pick<PushStatesOptions, 'sealer' | 'clock' | 'logger'> {
  readonly self: Self
  readonly bus: EventBus | undefined
  readonly calls: WaitingCalls
  readonly states: PushStates
  readonly ids: QuestionIds
  readonly generations: Claims
  readonly owners: Owners
}

interface ArrivedAnswer extends NamedQuestion {
  readonly response: ResponseMessage
  /** The state that came with the answer. */
  readonly echo: BroughtState | undefined
}

const SETTLED: Taken = { kind: 'settled' }
const LOST: Taken = { kind: 'lost' }
const NOT_OPEN = 'An answer came to a question that does not wait.'
const TWICE = 'An answer came twice, or from somebody who may not give it any more.'

export class AnswerTaker {
  readonly #options: AnswerTakerOptions
  readonly #relay: PushRelay | undefined
  /** Calls that this instance is about to resume, by name. */
  readonly #resuming = new Map<string, Promise<Taken>>()

  constructor(options: AnswerTakerOptions) {
    this.#options = options
    const { self, bus, sealer, calls, clock } = options
    this.#relay =
      bus &&
      new PushRelay({
        bus,
        sealer,
        callerOf: ({ call, question }) => calls.get(call)?.open.callerOf(question),
        take: async ({ call, question }, response, answerer) =>
          (await this.#takeHere({ call, question, instance: self, response, echo: undefined }, answerer))?.kind ===
          'settled',
        clock,
      })
  }

  /**
   * Takes an answer. `gone`: the instances that did not answer. Throws if the answer brings another state than was
   * sent.
   */
  async take(response: ResponseMessage, caller: Caller, gone: ReadonlySet<string>): Promise<Taken> {
    const { self, ids, states, calls, owners } = this.#options
    const asked = ids.read(response.id, caller)
    // ST-8: a state is validated wherever it comes back, even if its question still waits in this process.
    const echo = await states.readEcho(response, asked?.question, caller)
    if (asked === undefined) return this.#ignore('An answer came to a question that was never asked.')
    const { call } = asked
    const answer: ArrivedAnswer = { ...asked, response, echo }
    const taken = await this.#takeHere(answer, caller)
    if (taken !== undefined) return taken
    const instance = owners.ownerOf(call, asked.instance)
    if (instance.id === self.id) return calls.isLeft(call) ? { kind: 'left' } : this.#ignore(NOT_OPEN)
    if (instance.url !== undefined && !gone.has(instance.id)) return { kind: 'elsewhere', instance }
    return this.#takeFrom(instance, answer, caller, gone)
  }

  /** Whether it can be detected that this instance is gone, so that another may resume its calls. */
  mayResume({ url }: Instance): boolean {
    return url !== undefined || this.#relay !== undefined
  }

  /**
   * Claims the next generation of each waiting call, unless another instance has resumed the call; then the call is
   * left to that instance. The new owner of a call that is being handed off claims it itself.
   */
  async reclaim(): Promise<void> {
    const reclaim = async (asking: PushedCall): Promise<void> => {
      if ((await asking.move.newOwner) !== undefined) return
      await this.#claimNext(asking, asking.claims.generation)
      asking.open.renew(asking.claims.generation)
    }
    const carried = this.#options.calls.movable().filter(({ claims }) => claims.carried)
    await Promise.all(carried.map((asking) => asking.arrive(reclaim(asking))))
  }

  /** Delays answers to this call until it is decided whether it is resumed here. */
  async decide<T>(call: string, deciding: () => Promise<T>): Promise<T> {
    await this.#resuming.get(call)
    const decided = deciding()
    const settled = decided.then(() => SETTLED).finally(() => this.#resuming.delete(call))
    this.#resuming.set(call, settled)
    await settled
    return decided
  }

  /** Takes an answer for a call of this instance; undefined if the call is not here. */
  async #takeHere(answer: ArrivedAnswer, caller: Caller): Promise<Taken | undefined> {
    const { question, call } = answer
    const asking = this.#options.calls.get(call)
    const asked = asking?.open.callerOf(question)
    if (asking === undefined) return undefined
    if (asked === undefined) return asking.arrive(this.#takeEarlier(asking, answer, caller))
    if (!isSameCaller(asked, caller))
      return this.#ignore('An answer came from another session than the question went to.')
    if (!asking.open.accepts(question, caller))
      return this.#ignore('An answer came from somebody who may not give it any more.')
    return asking.arrive(this.#settle(asking, answer, caller))
  }

  /** Takes an answer for a call of this instance whose question an earlier process asked. */
  async #takeEarlier(asking: PushedCall, answer: ArrivedAnswer, caller: Caller): Promise<Taken | undefined> {
    const { calls, states, self } = this.#options
    const { question, instance, response, echo } = answer
    let key = asking.earlier.keys.get(question)
    if (key === undefined && instance.id !== self.id) {
      const brought = echo ?? (await states.readStored(question, caller))
      key = brought?.state.key
      if (brought !== undefined && echo === undefined) this.#inherit(question, brought.state)
    }
    if (key === undefined) return this.#ignore(NOT_OPEN)
    const report = await states.examine(echo)
    const movedTo = await asking.move.newOwner
    if (movedTo !== undefined) return { kind: 'elsewhere', instance: movedTo }
    if (calls.get(asking.name) !== asking) return undefined
    const { carried, generation } = asking.claims
    const isNew = !asking.earlier.taken.has(response.id)
    const other = isNew && carried ? await this.#claimNext(asking, generation) : undefined
    if (other !== undefined) return { kind: 'elsewhere', instance: other }
    if (asking.takeAnswer(key, response, caller)) report()
    else this.#ignore(TWICE)
    return SETTLED
  }

  async #settle(asking: PushedCall, { question, response, echo }: ArrivedAnswer, caller: Caller): Promise<Taken> {
    const report = await this.#options.states.examine(echo)
    const movedTo = await asking.move.newOwner
    if (movedTo !== undefined) return { kind: 'elsewhere', instance: movedTo }
    const other = asking.claims.carried ? await this.#claimNext(asking, asking.open.askedIn(question)) : undefined
    if (other !== undefined) return { kind: 'elsewhere', instance: other }
    if (asking.open.settle(question, response, caller)) report()
    return SETTLED
  }

  /**
   * Claims the next generation of a call. `asked`: the generation of the question. If another instance has claimed it,
   * leaves the call to that instance and returns it.
   */
  async #claimNext(asking: PushedCall, asked: number | undefined): Promise<Instance | undefined> {
    const { calls, generations, self } = this.#options
    const { name, claims, cost } = asking
    const other = await claims.advance(asked, async (generation) => {
      const claimant = await generations.claim(name, generation, cost.caller || undefined)
      // If the ledger fails, the process that holds the call continues it.
      return typeof claimant === 'string' || claimant.id === self.id ? undefined : claimant
    })
    if (other !== undefined) calls.leave(asking, other)
    return other
  }

  /** Takes an answer whose instance cannot be reached by its address. */
  async #takeFrom(
    instance: Instance,
    { question, call, response, echo }: ArrivedAnswer,
    caller: Caller,
    gone: ReadonlySet<string>,
  ): Promise<Taken> {
    const { states } = this.#options
    const report = await states.examine(echo)
    // An instance whose address is wrong may still be alive.
    if (await this.#relay?.offer({ question, call }, response, caller)) {
      report()
      return SETTLED
    }
    if (!this.mayResume(instance)) return { kind: 'unreachable' }
    const brought = echo ?? (await states.readStored(question, caller))
    if (brought === undefined) return LOST
    const taken = await this.#resumeOnce(brought.state, response, caller, new Set([...gone, instance.id]))
    if (taken.kind === 'resumed') report()
    if (echo === undefined) this.#inherit(question, brought.state)
    return taken
  }

  #inherit(question: string, { call }: PushState): void {
    const { calls, states } = this.#options
    const asking = calls.get(call)
    if (asking === undefined) return
    states.inherit(question)
    asking.earlier.inherited.add(question)
  }

  /**
   * Resumes the call of an instance that is gone, from its state, unless another instance has done so. Concurrent
   * answers wait for the first.
   */
  async #resumeOnce(
    state: PushState,
    response: ResponseMessage,
    caller: Caller,
    gone: ReadonlySet<string>,
  ): Promise<Taken> {
    const underWay = this.#resuming.get(state.call)
    if (underWay !== undefined) {
      const taken = await underWay
      if (taken.kind === 'elsewhere') return taken
    }
    const asking = this.#options.calls.get(state.call)
    if (asking !== undefined) {
      if (!asking.takeAnswer(state.key, response, caller)) this.#ignore(TWICE)
      return SETTLED
    }
    const resuming = this.#resume(state, response, caller, gone).finally(() => this.#resuming.delete(state.call))
    this.#resuming.set(state.call, resuming)
    return resuming
  }

  async #resume(
    state: PushState,
    response: ResponseMessage,
    caller: Caller,
    gone: ReadonlySet<string>,
  ): Promise<Taken> {
    const { call, key, request, stream } = state
    const journal = readJournal(call, 0, state.journal)
    const { generations, calls, owners, self } = this.#options
    // A claim of this instance counts as gone: the call is not here, so it has ended or was claimed by another instance
    // since.
    const former = new Set([...gone, self.id])
    const claimed = await generations.claimAfter(call, state.generation, former, quotaCaller(caller))
    if (claimed === 'unknown') return { kind: 'lost', state }
    if (typeof claimed === 'string') return { kind: 'ended', state }
    if (typeof claimed === 'object') return { kind: 'elsewhere', instance: claimed }
    const asking = calls.enter(call, claimed + 1)
    owners.note([call], self)
    const result = bareResult(response)
    if (result === undefined) asking.takeAnswer(key, response, caller)
    else asking.earlier.taken.add(response.id)
    const params = { ...request.params, inputResponses: result === undefined ? {} : { [key]: result } }
    return { kind: 'resumed', call: { id: request.id, method: request.method, params, stream, journal }, state }
  }

  #ignore(why: string): Taken {
    this.#options.logger().debug({}, `${why} It was ignored.`)
    return SETTLED
  }
}

function isSameCaller(a: Caller, b: Caller): boolean {
  return a.peer.session === b.peer.session && a.principal?.id === b.principal?.id
}
