/**
 * The state of a pushed question (SEP-1685): everything another process needs to continue the call from the answer. It
 * is sent to clients that declared that they echo it, and saved in the store if there is one.
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
import { StateError } from '../../../state/internal.ts'
import type { Sealer } from '../../../state/seal/index.ts'
import type { CarryStore } from '../../../state/stores/index.ts'
import type { Call, Caller, CarriedCall } from '../../call.ts'
import { bindingOf, sealedWithin } from '../../binding.ts'
import { errorDetails, type Logger } from '../../logger.ts'

/** The call as it was when it asked. */
export interface PushState {
  /** The journal id of the call. */
  readonly call: string
  readonly key: string
  /** How often the call had gone on from an answer when it asked. */
  readonly generation: number
  readonly request: { readonly id: RequestId; readonly method: string; readonly params: Json }
  /** The name of the stream for the result, and the number of its last event. */
  readonly stream: string
  readonly position: number
  readonly journal: unknown
}

export interface PushStatesOptions {
  readonly sealer: Sealer
  readonly store: CarryStore | undefined
  readonly ttlSeconds: number
  readonly clock: () => number
  readonly logger: () => Logger
}

/** What a question needs to know of its stream. */
export interface PushStream {
  readonly name: string
  readonly position: number
  /** Whether its client is connected. */
  readonly connected: boolean
}

/** A question: its id on the wire, and the name by which instances know it. */
export interface QuestionName {
  readonly id: string
  readonly question: string
}

export class PushStates {
  readonly #options: PushStatesOptions

  constructor(options: PushStatesOptions) {
    this.#options = options
  }

  /** Whether questions to this client have a state. */
  carries({ peer }: Caller): boolean {
    return this.#options.store !== undefined || echoPlace(peer.capabilities) !== undefined
  }

  /** The message of the question, with its state if the client echoes states. */
  async write(
    { id, question }: QuestionName,
    request: InputRequest,
    call: Call,
    carried: CarriedCall & { readonly generation: number },
    stream: PushStream,
  ): Promise<Json> {
    const place = echoPlace(call.peer.capabilities)
    const message = { jsonrpc: '2.0', id, ...inSessionEra(request, question) }
    if (!this.carries(call)) return message
    // ST-16: without a state, with the client or in the store, only the process that asked can take the answer.
    const state = sealedWithin(() => this.#seal(question, call, carried, stream))
    if (state === undefined) return message
    await this.#put(question, state)
    return place === undefined ? message : withState(message, place, state)
  }

  /** The state that an answer echoes; undefined when there is none. Throws when it is not the one that was sent. */
  readEcho(response: ResponseMessage, question: string | undefined, caller: Caller): PushState | undefined {
    const state = echoed(response)
    return state === undefined ? undefined : this.#open(state, question, caller)
  }

  /** The state in the store, for an answer that came without one. */
  async readStored(question: string, caller: Caller): Promise<PushState | undefined> {
    const state = await this.#options.store?.get(question)
    return state === undefined ? undefined : this.#open(state, question, caller)
  }

  /** Deletes the state of a question that is answered, or whose call has ended. */
  async forget(id: string): Promise<void> {
    await this.#options.store?.delete(id)
  }

  async #put(id: string, state: string): Promise<void> {
    const { store, clock, ttlSeconds, logger } = this.#options
    try {
      await store?.put(id, state, Math.ceil(clock() / 1000) + ttlSeconds)
    } catch (error) {
      logger().warn({ err: errorDetails(error) }, 'The store could not save the state of a question.')
    }
  }

  #seal(
    id: string,
    call: Call,
    { key, id: name, generation, body }: CarriedCall & { readonly generation: number },
    { name: stream, position }: PushStream,
  ): string {
    const request = { id: call.id, method: call.method, params: call.params }
    const state: PushState = { call: name, key, generation, request, stream, position, journal: body() }
    return this.#options.sealer.seal('push', bindingOf(call), { id, body: state })
  }

  #open(state: string, question: string | undefined, caller: Caller): PushState {
    const { id, body } = this.#options.sealer.open('push', bindingOf(caller), state)
    if (id !== question) throw new StateError('STATE_TAMPERED', 'The state belongs to another question.')
    return body as PushState
  }
}

/** The result of an answer without the state that it echoes. */
export function bareResult({ result }: ResponseMessage): Json | undefined {
  const meta = result?.['_meta']
  if (result === undefined || !isObject(meta) || !(ECHO_META_KEY in meta)) return result
  const { [ECHO_META_KEY]: _, ...rest } = meta
  const { _meta, ...bare } = result
  return Object.keys(rest).length === 0 ? bare : { ...bare, _meta: rest }
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
