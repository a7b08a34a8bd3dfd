/**
 * Pushes questions to session-era clients, and brings their answers to the call that asked.
 *
 * - The id of a question names, sealed, the instance that asked. Its answer belongs there, wherever it comes in.
 * - Only when that instance is gone may another go on with the call: from the state that the answer brings (SEP-1685)
 *   or that lies in the store. Without one the call is lost with its instance, and whoever answers is told.
 * - Each answer that lets a call go on is claimed once, under the call's generation, by the instance that goes on: in
 *   place or elsewhere. So a call never forks, however many answers come, where, and how often.
 * - When a call ends, its open questions end with it.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { type Journal, readJournal, ScopeClosed } from '../../journal/index.ts'
import type { Json, RequestId, ResponseMessage } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import type { Ledger } from '../../state/stores/index.ts'
import type { Call, Caller, CarriedCall } from '../call.ts'
import type { EventBus } from '../lifecycle/eventBus.ts'
import { errorDetails } from '../logger.ts'
import { type Instance, readInstance, type Self, writeInstance } from '../replicas/instance.ts'
import { bindingOf, newId } from '../sealing.ts'
import { evictAbandoned, PushedCall } from './pushedCall.ts'
import { PushRelay } from './pushRelay.ts'
import { bareResult, type PushState, PushStates, type PushStatesOptions, type PushStream } from './pushState.ts'

/** A call to continue from an answer. */
export interface RevivedCall {
  readonly id: RequestId
  readonly method: string
  readonly params: Json
  readonly stream: Pick<PushStream, 'name' | 'position'>
  readonly journal: Journal
}

/** The way of a question to the client. */
export interface PushWay {
  send(message: Json): void
  /** Lets go of the call: another instance answers it. */
  handOver(): void
}

/** What becomes of an answer. */
export type Taken =
  /** The call goes on where it is, or has ended. */
  | { readonly kind: 'settled' }
  /** The call goes on here, and whoever asks has to run it. */
  | { readonly kind: 'revived'; readonly call: RevivedCall }
  /** The answer belongs to that instance. */
  | { readonly kind: 'elsewhere'; readonly instance: Instance }
  /** The instance that asked is gone, and nobody can go on with the call. */
  | { readonly kind: 'lost' }
  /** The instance that asked has no address that this one knows, and they share no bus. */
  | { readonly kind: 'unreachable' }

export interface PushBrokerOptions extends PushStatesOptions {
  /** This process. */
  readonly self: Self
  /** A bus that reaches other instances, where one is configured. */
  readonly bus: EventBus | undefined
  /** Common to all instances. */
  readonly ledger: Ledger
  /** How many calls may wait for an answer at once. @default 1000 */
  readonly maxWaiting?: number
  /** How many of them may be of one session. @default 100 */
  readonly maxWaitingPerSession?: number
}

// A state can be opened up to a second longer than `ttlSeconds`, and clocks differ, so its claim must live longer.
const CLAIM_LONGER_SECONDS = 60
const MAX_WAITING_CHARS = 64 * 1024 * 1024
// A claim is made and then signed with the claimer's name; in between nobody can tell whose it is.
const CLAIM_SIGNED_WITHIN_MS = 1000
const LOOK_AGAIN_MS = 20
const ENDED = 'ended'

const SETTLED: Taken = { kind: 'settled' }
const LOST: Taken = { kind: 'lost' }

/** Who has claimed a generation: this instance just now, another or this one before, or nobody can tell. */
type Claimant = 'fresh' | 'ended' | 'unknown' | Instance

interface OpenQuestion {
  readonly question: string
  readonly instance: Instance
}

export class PushBroker {
  readonly #options: PushBrokerOptions
  readonly #states: PushStates
  readonly #relay: PushRelay | undefined
  readonly #calls = new Map<string, PushedCall>()
  readonly #askedBy = new Map<string, PushedCall>()
  /** Calls that this instance is about to revive, by name. */
  readonly #reviving = new Map<string, Promise<Taken>>()

  constructor(options: PushBrokerOptions) {
    this.#options = options
    this.#states = new PushStates(options)
    const { bus, sealer } = options
    const callerOf = (question: string) => this.#askedBy.get(question)?.callerOf(question)
    const take = async (question: string, response: ResponseMessage): Promise<boolean> =>
      (await this.#settleHere(question, response))?.kind === 'settled'
    this.#relay = bus && new PushRelay({ bus, sealer, callerOf, take })
  }

  /** Whether another instance can go on with a call of this client when the one that asked is gone. */
  carries(caller: Caller): boolean {
    return this.#states.carries(caller)
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
    const asking = this.#calls.get(name) ?? this.#enter(name, 0)
    const early = asking.takeEarly(key)
    if (early !== undefined) return early
    if (asking.ended) throw new ScopeClosed(`The question "${key}"`)
    this.#makeRoomFor(asking, call)
    asking.carried ||= this.#states.carries(call)
    asking.onHandOver = () => way.handOver()
    const question = newId()
    const { generation } = asking
    const id = this.#questionId(question, call)
    const message = await this.#states.write({ id, question }, request, call, { ...carried, generation }, stream)
    if (asking.ended) throw new ScopeClosed(`The question "${key}"`)
    this.#makeRoomFor(asking, call) // again, because other calls may have come meanwhile
    this.#askedBy.set(question, asking)
    const { ttlSeconds } = this.#options
    const answer = asking.wait(question, { id, caller: call, key, generation, stream, ttlSeconds })
    way.send(message)
    return answer
  }

  /** Takes an answer. `gone` are the instances that did not answer. Throws when its state is not what was sent. */
  async take(response: ResponseMessage, caller: Caller, gone: ReadonlySet<string> = new Set()): Promise<Taken> {
    const asked = this.#readQuestionId(response.id, caller)
    // ST-8: a state is validated wherever it comes back, even if its question still waits in this process.
    const echo = this.#states.readEcho(response, asked?.question, caller)
    if (asked === undefined) return this.#ignore('An answer came to a question that was never asked.')
    const { question, instance } = asked
    if (instance.id === this.#options.self.id) {
      const taken = await this.#takeHere(question, response, caller)
      return taken ?? this.#ignore('An answer came to a question that nobody waits for.')
    }
    if (!gone.has(instance.id)) {
      if (instance.url !== undefined) return { kind: 'elsewhere', instance }
      if (this.#relay === undefined) return { kind: 'unreachable' }
      if (await this.#relay.offer(question, response, caller)) return SETTLED
    }
    const state = echo ?? (await this.#states.readStored(question, caller))
    return state === undefined ? LOST : this.#goOn(state, response, new Set([...gone, instance.id]))
  }

  /** The call is over; gives the ids of the questions that the client need not answer any more. */
  end(name: string): readonly string[] {
    const asking = this.#calls.get(name)
    if (asking === undefined) return []
    this.#calls.delete(name)
    if (asking.carried && !asking.isHandedOver) void this.#claim(name, asking.generation, ENDED)
    return asking.end()
  }

  /**
   * This process is about to end. A call whose state is out there ends without a word, so that another instance can go
   * on with it; every other one is told that its answer cannot be waited for.
   */
  drain(): void {
    for (const asking of this.#calls.values()) {
      if (!asking.isWaiting) continue
      if (asking.carried) asking.handOver()
      else asking.end(STOPPING)
    }
  }

  #makeRoomFor(asking: PushedCall, { params, peer: { session } }: Call): void {
    if (asking.isWaiting) return // it is counted already
    asking.chars ||= JSON.stringify(params).length
    const { maxWaiting = 1000, maxWaitingPerSession = 100 } = this.#options
    const limits = { perProcess: maxWaiting, perSession: maxWaitingPerSession, chars: MAX_WAITING_CHARS }
    evictAbandoned(this.#calls.values(), asking, session, limits)
  }

  #enter(name: string, generation: number): PushedCall {
    const asking = new PushedCall(name, generation, (question) => this.#forget(question))
    this.#calls.set(name, asking)
    return asking
  }

  #questionId(question: string, caller: Caller): string {
    const { sealer, self } = this.#options
    return sealer.seal('question', bindingOf(caller), { id: question, body: writeInstance(self) })
  }

  /** What an id says that this server gave to a question in this session; undefined for every other id. */
  #readQuestionId(id: RequestId, caller: Caller): OpenQuestion | undefined {
    if (typeof id !== 'string' || caller.peer.session === undefined) return undefined
    try {
      const { id: question, body } = this.#options.sealer.open('question', bindingOf(caller), id)
      const instance = readInstance(body)
      return instance && { question, instance }
    } catch (error) {
      if (error instanceof StateError) return undefined
      throw error
    }
  }

  /** An answer to a question of this process; undefined when the question is not open. */
  async #takeHere(question: string, response: ResponseMessage, caller: Caller): Promise<Taken | undefined> {
    const asked = this.#askedBy.get(question)?.callerOf(question)
    if (asked === undefined || isSameCaller(asked, caller)) return this.#settleHere(question, response)
    return this.#ignore('An answer came from another session than the question went to.')
  }

  async #settleHere(question: string, response: ResponseMessage): Promise<Taken | undefined> {
    const asking = this.#askedBy.get(question)
    if (asking === undefined) return undefined
    const other = asking.carried
      ? await asking.advance(question, (generation) => this.#advance(asking, generation))
      : undefined
    if (other === undefined) asking.settle(question, response)
    else asking.handOver()
    return other === undefined ? SETTLED : { kind: 'elsewhere', instance: other }
  }

  /** Claims the next generation for this process; gives the instance that has it already, if one has. */
  async #advance({ name }: PushedCall, generation: number): Promise<Instance | undefined> {
    const claimant = await this.#claim(name, generation)
    // Where the ledger cannot tell, the process that has the call goes on with it.
    if (typeof claimant === 'string' || claimant.id === this.#options.self.id) return undefined
    return claimant
  }

  /** The instance that asked is gone: goes on from the state, where no other instance does. */
  async #goOn(state: PushState, response: ResponseMessage, gone: ReadonlySet<string>): Promise<Taken> {
    const underWay = this.#reviving.get(state.call)
    if (underWay !== undefined) {
      const taken = await underWay
      if (taken.kind === 'elsewhere') return taken
    }
    const asking = this.#calls.get(state.call)
    if (asking !== undefined) {
      if (!asking.takeAnswer(state.key, response)) this.#ignore('An answer came twice.')
      return SETTLED
    }
    const reviving = this.#revive(state, response, gone).finally(() => this.#reviving.delete(state.call))
    this.#reviving.set(state.call, reviving)
    return reviving
  }

  async #revive(state: PushState, response: ResponseMessage, gone: ReadonlySet<string>): Promise<Taken> {
    const { call, key, request, stream: name, position } = state
    const journal = readJournal(call, 0, state.journal)
    const claimed = await this.#claimAfter(call, state.generation, gone)
    if (typeof claimed !== 'number') return claimed
    const asking = this.#enter(call, claimed + 1)
    const result = bareResult(response)
    if (result === undefined) asking.takeAnswer(key, response)
    else asking.markTaken(response.id)
    const params = { ...request.params, inputResponses: result === undefined ? {} : { [key]: result } }
    return {
      kind: 'revived',
      call: { id: request.id, method: request.method, params, stream: { name, position }, journal },
    }
  }

  /** The generation this process has claimed: the first one from here on that no instance has which is still there. */
  async #claimAfter(call: string, first: number, gone: ReadonlySet<string>): Promise<number | Taken> {
    for (let generation = first; ; generation++) {
      const claimant = await this.#claim(call, generation)
      if (claimant === 'fresh') return generation
      if (claimant === 'unknown') return LOST
      if (claimant === 'ended' || claimant.id === this.#options.self.id)
        return this.#ignore('An answer came to a call that has ended.')
      if (!gone.has(claimant.id)) return { kind: 'elsewhere', instance: claimant }
    }
  }

  /** Each generation of a call is claimed by one instance, which signs the claim with its name. */
  async #claim(
    call: string,
    generation: number,
    value: unknown = writeInstance(this.#options.self),
  ): Promise<Claimant> {
    const { ledger, ttlSeconds, logger } = this.#options
    const id = `push/${call}/${generation}`
    try {
      for (let waitedMs = 0; waitedMs <= CLAIM_SIGNED_WITHIN_MS; waitedMs += LOOK_AGAIN_MS) {
        const claim = await ledger.claim(id, ttlSeconds + CLAIM_LONGER_SECONDS)
        if (claim.state === 'fresh') {
          await ledger.settle(id, value)
          return 'fresh'
        }
        if (claim.state === 'done') return claim.value === ENDED ? 'ended' : (readInstance(claim.value) ?? 'unknown')
        await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
      }
    } catch (error) {
      logger().error({ err: errorDetails(error) }, 'The ledger could not claim a call.')
    }
    return 'unknown'
  }

  #forget(question: string): void {
    this.#askedBy.delete(question)
    this.#states.forget(question).catch((error: unknown) => {
      this.#options.logger().warn({ err: errorDetails(error) }, 'The store could not delete the state of a question.')
    })
  }

  #ignore(why: string): Taken {
    this.#options.logger().debug({}, `${why} It was ignored.`)
    return SETTLED
  }
}

const STOPPING = 'This instance is being stopped, and cannot wait for the answer. Repeat the call.'

function isSameCaller(a: Caller, b: Caller): boolean {
  return a.peer.session === b.peer.session && a.principal?.id === b.principal?.id
}
