/**
 * Questions pushed to session-era clients, and the way of their answers back to the call that asked.
 *
 * - An answer to a question of this process goes on in place.
 * - An answer to a question of another process goes there, where instances share a bus.
 * - An answer that brings its state (SEP-1685), or whose state lies in the store, goes on here even when the process
 *   that asked is gone: the call is revived from the journal it carries.
 * - Each process that worked on a call is followed by at most one other, however many answers come and however often.
 *   Instances that share a ledger keep this between them.
 * - When a call ends, its open questions end with it.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { type Journal, readJournal, ScopeClosed } from '../../journal/index.ts'
import type { Json, RequestId, ResponseMessage } from '../../protocol/index.ts'
import type { Ledger } from '../../state/stores/index.ts'
import { PushedCall, evictAbandoned } from './pushedCall.ts'
import type { Call, Caller, CarriedCall } from '../call.ts'
import { newId } from '../sealing.ts'
import { errorDetails } from '../logger.ts'
import type { EventBus } from '../lifecycle/eventBus.ts'
import { PushRelay } from './pushRelay.ts'
import { bareResult, type PushState, PushStates, type PushStatesOptions, type PushStream } from './pushState.ts'

/** A call that goes on from an answer. */
export interface RevivedCall {
  readonly id: RequestId
  readonly method: string
  readonly params: Json
  readonly stream: Pick<PushStream, 'name' | 'position'>
  readonly journal: Journal
}

export interface PushBrokerOptions extends PushStatesOptions {
  /** A bus that reaches other instances, where there is one. */
  readonly bus: EventBus | undefined
  readonly ledger: Ledger
  /** How many calls may wait for an answer at once. @default 1000 */
  readonly maxWaiting?: number
  /** How many of them may be of one session. @default 100 */
  readonly maxWaitingPerSession?: number
}

// A state may open up to a second longer than `ttlSeconds`, and clocks differ: what guards it must outlive it.
const CLAIM_LONGER_SECONDS = 60
const MAX_WAITING_CHARS = 64 * 1024 * 1024
const QUESTION_ID = /^[\da-f]{32}$/

export class PushBroker {
  readonly #options: PushBrokerOptions
  readonly #states: PushStates
  readonly #relay: PushRelay | undefined
  readonly #calls = new Map<string, PushedCall>()
  readonly #askedBy = new Map<string, PushedCall>()

  constructor(options: PushBrokerOptions) {
    this.#options = options
    this.#states = new PushStates(options)
    const { bus, sealer } = options
    const callerOf = (question: string) => this.#askedBy.get(question)?.callerOf(question)
    this.#relay = bus && new PushRelay({ bus, sealer, callerOf, take: (response) => this.#takeRelayed(response) })
  }

  /** Sends a question by `send` and waits for its answer. `stream` is where the result will go. */
  async push(
    call: Call,
    request: InputRequest,
    carried: CarriedCall,
    stream: PushStream,
    send: (message: Json) => void,
  ): Promise<unknown> {
    const { id: name, key } = carried
    const asking = this.#calls.get(name) ?? this.#enter(name, 0)
    const early = asking.takeEarly(key)
    if (early !== undefined) return early
    if (asking.ended) throw new ScopeClosed(`The question "${key}"`)
    this.#makeRoomFor(asking, call)
    asking.carried ||= this.#states.carries(call)
    const question = newId()
    const { generation } = asking
    const message = await this.#states.write(question, request, call, { ...carried, generation }, stream)
    if (asking.ended) throw new ScopeClosed(`The question "${key}"`)
    this.#makeRoomFor(asking, call) // again, for others may have come meanwhile
    this.#askedBy.set(question, asking)
    const answer = asking.wait(question, { caller: call, key, stream, ttlSeconds: this.#options.ttlSeconds })
    send(message)
    return answer
  }

  /** Takes an answer; gives the call to revive, if that is what it means. Throws when its state is not what was sent. */
  async take(response: ResponseMessage, caller: Caller): Promise<RevivedCall | undefined> {
    // ST-8: a state is validated wherever it comes back, also where its question still waits.
    const echo = this.#states.readEcho(response, caller)
    if (!isOurs(response, caller)) return this.#ignore('An answer came to a question that was never asked.')
    if (this.#settleHere(response, caller)) return undefined
    const state = echo ?? (await this.#states.readStored(response, caller))
    const isHere = state !== undefined && this.#calls.has(state.call)
    if (!isHere && (await this.#relay?.offer(response, caller))) return undefined
    if (state === undefined) return this.#ignore('An answer came to a question that nobody waits for.')
    const asking = this.#calls.get(state.call)
    return asking === undefined ? this.#revive(state, response) : this.#hear(asking, state, response)
  }

  /** The call is over; gives the questions that the client need not answer any more. */
  end(name: string): readonly string[] {
    const asking = this.#calls.get(name)
    if (asking === undefined) return []
    this.#calls.delete(name)
    if (asking.carried) void this.#claim(name, asking.generation)
    return asking.end()
  }

  #makeRoomFor(asking: PushedCall, { params, peer: { session } }: Call): void {
    if (asking.isWaiting) return // it has its place
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

  /** Whether the question waits here; its answer then goes on in place. */
  #settleHere(response: ResponseMessage, caller: Caller): boolean {
    const question = String(response.id)
    const asking = this.#askedBy.get(question)
    const asked = asking?.callerOf(question)
    if (asking === undefined || asked === undefined) return false
    if (isSameCaller(asked, caller)) asking.settle(question, response)
    else this.#ignore('An answer came from another session than the question went to.')
    return true
  }

  /** From an instance that would else go on with the call itself: only one of the two may. */
  async #takeRelayed(response: ResponseMessage): Promise<boolean> {
    const question = String(response.id)
    const asking = this.#askedBy.get(question)
    if (asking === undefined) return false
    if (asking.carried && !(await this.#claim(asking.name, asking.generation))) return false
    asking.generation++
    asking.settle(question, response)
    return true
  }

  #hear(asking: PushedCall, { generation, key }: PushState, response: ResponseMessage): undefined {
    const ofEarlierProcess = generation < asking.generation
    if (!ofEarlierProcess || !asking.takeAnswer(key, response)) this.#ignore('An answer came twice.')
  }

  async #revive(state: PushState, response: ResponseMessage): Promise<RevivedCall | undefined> {
    const { call, key, generation, request, stream: name, position } = state
    const journal = readJournal(call, 0, state.journal)
    // Entered before the ledger is asked, so that answers which come meanwhile find the call.
    const asking = this.#enter(call, generation + 1)
    const result = bareResult(response)
    if (result === undefined) asking.takeAnswer(key, response)
    else asking.markTaken(response.id)
    if (!(await this.#claim(call, generation))) {
      this.#calls.delete(call)
      return this.#ignore('An answer came to a call that has ended or goes on elsewhere.')
    }
    const params = { ...request.params, inputResponses: result === undefined ? {} : { [key]: result } }
    return { id: request.id, method: request.method, params, stream: { name, position }, journal }
  }

  /** Each process that worked on a call is followed by at most one other. */
  async #claim(call: string, generation: number): Promise<boolean> {
    const { ledger, ttlSeconds, logger } = this.#options
    try {
      const { state } = await ledger.claim(`push/${call}/${generation}`, ttlSeconds + CLAIM_LONGER_SECONDS)
      return state === 'fresh'
    } catch (error) {
      logger().error({ err: errorDetails(error) }, 'The ledger could not be asked about a call.')
      return false
    }
  }

  #forget(question: string): void {
    this.#askedBy.delete(question)
    this.#states.forget(question).catch((error: unknown) => {
      this.#options.logger().warn({ err: errorDetails(error) }, 'The store could not forget a question.')
    })
  }

  #ignore(why: string): undefined {
    this.#options.logger().debug({}, `${why} It was ignored.`)
  }
}

/** Only sessions are asked, and by ids of one form; anything else need not be looked for elsewhere. */
function isOurs({ id }: ResponseMessage, { peer }: Caller): boolean {
  return peer.session !== undefined && typeof id === 'string' && QUESTION_ID.test(id)
}

function isSameCaller(a: Caller, b: Caller): boolean {
  return a.peer.session === b.peer.session && a.principal?.id === b.principal?.id
}
