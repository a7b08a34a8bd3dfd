/**
 * The state of a pushed question (SEP-1685): everything that another process needs to continue the call from the
 * answer. It is sent to clients that echo it, or stored, or both, by the carry mode of the question.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import {
  ECHO_META_KEY,
  type EchoPlace,
  echoPlace,
  isObject,
  type Json,
  type RequestId,
  type ResponseMessage,
} from '../../../protocol/index.ts'
import { digestOf, StateError } from '../../../state/internal.ts'
import type { Sealer } from '../../../state/seal/index.ts'
import type { CarryStore } from '../../../state/stores/index.ts'
import type { Call, Caller, CarriedCall, Peer } from '../../call.ts'
import type { Carry, CarryMode, CarryRules, Difference } from '../../catalog/carry.ts'
import { bindingOf, sealedWithin } from '../../binding.ts'
import { errorDetails, type Logger } from '../../logger.ts'

/** The call as it was when it asked. */
export interface PushState {
  /** The journal id of the call. */
  readonly call: string
  readonly key: string
  /** The call's generation when it asked. */
  readonly generation: number
  readonly request: { readonly id: RequestId; readonly method: string; readonly params: Json }
  /** The name of the stream for the result, and the number of its last event. */
  readonly stream: string
  readonly position: number
  readonly journal: unknown
  /** The carry mode of the question, if it was chosen. */
  readonly carry?: CarryMode
  /** The question's id on the wire, for an instance that finds the state in the store and asks again. */
  readonly id?: string
}

/** The state that an answer brings. */
export interface BroughtState {
  readonly question: string
  readonly caller: Caller
  readonly state: PushState
  /** The token as the client sent it; absent if it could not be opened, and this is the stored state. */
  readonly token?: string
  /** The reason why the client's own state could not be opened. */
  readonly refused?: StateError
}

export interface PushStatesOptions {
  readonly sealer: Sealer
  readonly rules: CarryRules
  readonly store: CarryStore | undefined
  readonly ttlSeconds: number
  readonly clock: () => number
  readonly onDifference: (difference: Difference) => void
  readonly logger: () => Logger
}

/** The stream of a question. */
export interface PushStream {
  readonly name: string
  readonly position: number
  /** Whether its client is connected. */
  readonly connected: boolean
  /** Sets the question that its client has to answer, if any instance could resume the call from that answer. */
  noteOwed(question: string | undefined): void
}

/** A question: its id on the wire, and the name by which instances know it. */
export interface QuestionName {
  readonly id: string
  readonly question: string
}

type AskingCall = CarriedCall & { readonly generation: number }

const NOTHING = (): void => {}

export class PushStates {
  readonly #options: PushStatesOptions
  /** Questions with stored states, which are deleted when the questions are answered here. */
  readonly #stored = new Set<string>()

  constructor(options: PushStatesOptions) {
    this.#options = options
  }

  /** Whether this client may get the states of questions and echo them with its answers. */
  mayEcho({ peer }: Caller): boolean {
    return this.#options.rules.mayEcho(echoPlace(peer.capabilities) !== undefined)
  }

  /** Whether this question has a state. */
  carries(request: InputRequest, { peer }: Caller, { carry }: CarriedCall): boolean {
    const { client, store } = this.#carriersOf(request, peer, carry).carriers
    return client || store
  }

  /**
   * The message of the question, with its state if the client is to echo it. `asking` is absent for a question without
   * a state.
   */
  async write(
    { id, question }: QuestionName,
    request: InputRequest,
    call: Call,
    asking: AskingCall | undefined,
    stream: PushStream,
  ): Promise<Json> {
    const message = { jsonrpc: '2.0', id, ...inSessionEra(request, question) }
    if (asking === undefined) return message
    const { mode, place, carriers } = this.#carriersOf(request, call.peer, asking.carry)
    // ST-16: without a state, at the client or in the store, only the process that asked can take the answer.
    const named = { question, ...(carriers.store && { id }) }
    const state = sealedWithin(() => this.#seal(named, call, asking, stream, mode))
    if (state === undefined) return message
    if (carriers.store) await this.#put(question, state)
    return carriers.client && place !== undefined ? withState(message, place, state) : message
  }

  /**
   * The state that an answer echoes, if any. Throws if it differs from the state that was sent, unless the store has
   * that one ('client-first').
   */
  async readEcho(
    response: ResponseMessage,
    question: string | undefined,
    caller: Caller,
  ): Promise<BroughtState | undefined> {
    try {
      const token = echoed(response)
      return token === undefined ? undefined : { ...this.#open(token, question, caller), token }
    } catch (error) {
      if (!(error instanceof StateError)) throw error
      const stored = await this.#readInstead(question, caller)
      if (stored !== undefined) return { ...stored, refused: error }
      this.#options.logger().warn({ code: error.code, why: error.message }, 'A state was refused.')
      throw error
    }
  }

  /** The stored state, for an answer without one. */
  async readStored(question: string, caller: Caller): Promise<BroughtState | undefined> {
    const state = await this.#options.store?.get(question)
    return state === undefined ? undefined : this.#open(state, question, caller)
  }

  /**
   * Compares a state with the stored one, if both should exist. Call it before the answer is taken, because the stored
   * state is deleted with its question; call the returned function after that.
   */
  async examine(brought: BroughtState | undefined): Promise<() => void> {
    const { rules, logger, onDifference } = this.#options
    if (brought?.refused !== undefined) {
      const { code } = brought.refused
      return () =>
        logger().warn({ code }, 'The state of the client could not be opened; the one in the store was used.')
    }
    if (brought?.state.carry !== 'both' || !rules.isInUse('both')) return NOTHING
    const reason = await this.#compare(brought)
    if (reason === undefined) return NOTHING
    const { method, params } = brought.state.request
    return () => onDifference({ method, name: String(params['name'] ?? params['uri']), reason })
  }

  /** Registers a question of a resumed call, whose state may be in the store. */
  inherit(question: string): void {
    if (this.#options.store !== undefined) this.#stored.add(question)
  }

  /** Deletes the state of a question that is answered, or whose call has ended. */
  async forget(question: string): Promise<void> {
    if (this.#stored.delete(question)) await this.#options.store?.delete(question)
  }

  #carriersOf(request: InputRequest, { capabilities }: Peer, carry: Carry | undefined) {
    const { rules } = this.#options
    const place = echoPlace(capabilities)
    const mode = rules.modeOf(request, carry)
    return { mode, place, carriers: rules.carriersOf(mode, place !== undefined) }
  }

  async #readInstead(question: string | undefined, caller: Caller): Promise<BroughtState | undefined> {
    if (question === undefined || !this.#options.rules.isInUse('client-first')) return undefined
    const stored = await this.readStored(question, caller)
    return stored?.state.carry === 'client-first' ? stored : undefined
  }

  async #compare({ question, caller, state, token }: BroughtState): Promise<Difference['reason'] | undefined> {
    try {
      const stored = await this.#options.store?.get(question)
      if (stored === undefined) return 'missing-in-store'
      if (stored === token) return undefined
      return digestOf(this.#open(stored, question, caller).state) === digestOf(state) ? undefined : 'different'
    } catch {
      return 'unreadable-in-store'
    }
  }

  async #put(question: string, state: string): Promise<void> {
    const { store, clock, ttlSeconds, logger } = this.#options
    this.#stored.add(question)
    try {
      await store?.put(question, state, Math.ceil(clock() / 1000) + ttlSeconds)
    } catch (error) {
      logger().warn({ err: errorDetails(error) }, 'The store could not save the state of a question.')
    }
  }

  #seal(
    { question, ...wire }: Pick<QuestionName, 'question'> & Pick<PushState, 'id'>,
    call: Call,
    { key, id, generation, body }: AskingCall,
    { name: stream, position }: PushStream,
    mode: CarryMode | undefined,
  ): string {
    const request = { id: call.id, method: call.method, params: call.params }
    const carry = mode && { carry: mode }
    const state: PushState = {
      call: id,
      key,
      generation,
      request,
      stream,
      position,
      journal: body(),
      ...carry,
      ...wire,
    }
    return this.#options.sealer.seal('push', bindingOf(call), { id: question, body: state })
  }

  #open(token: string, question: string | undefined, caller: Caller): BroughtState {
    const { id, body } = this.#options.sealer.open('push', bindingOf(caller), token)
    if (id !== question) throw new StateError('STATE_TAMPERED', 'The state belongs to another question.')
    return { question, caller, state: body as PushState }
  }
}

/** URL mode of 2025-11-25 requires an id, which later revisions do not have. */
function inSessionEra(request: InputRequest, id: string): InputRequest {
  if (request.method !== 'elicitation/create' || request.params.mode !== 'url') return request
  return { ...request, params: { ...request.params, elicitationId: id } }
}

function withState(message: Json, place: EchoPlace, state: string): Json {
  if (place === 'top') return { ...message, state }
  const params = message['params'] as Json | undefined
  const meta = params?.['_meta'] as Json | undefined
  return { ...message, params: { ...params, _meta: { ...meta, [ECHO_META_KEY]: state } } }
}

/** The state that an answer echoes, at the top level or in `_meta`. */
function echoed({ state, result }: ResponseMessage): string | undefined {
  const meta = result?.['_meta']
  const found = state ?? (isObject(meta) ? meta[ECHO_META_KEY] : undefined)
  if (found === undefined || typeof found === 'string') return found
  throw new StateError('STATE_MALFORMED', 'The state is not the string that was sent.')
}
