/**
 * One request of a caller, through all its rounds. Each round is sent as a leg: a request whose answer is either the
 * result or the next questions (MRTR-23 to 27).
 */
import { isObject, type Json, type RequestId } from '../../protocol/index.ts'
import {
  idKey,
  isMinted,
  metaIn,
  mintId,
  paramsOf,
  uncacheable,
  type WireResponse,
  type WireRequest,
} from '../layer/message.ts'
import type { SendOptions, WireMessage } from '../layer/transport.ts'
import type { AskedCall } from '../questions/answerer.ts'
import { OpenCall } from '../questions/openCall.ts'
import { ASKING_METHODS, type AskingMethod } from '../suspend/savedCall.ts'

type AskingRequest = WireRequest & { readonly method: AskingMethod }

const asking: ReadonlySet<string> = new Set(ASKING_METHODS)

export function isAsking(message: WireRequest): message is AskingRequest {
  return asking.has(message.method)
}

const LEG = '/leg'

/** Whether an id belongs to a later leg. Other layers send their own requests, so the id is marked. */
export function isLegId(id: unknown): id is string {
  return isMinted(id) && id.endsWith(LEG)
}

export class RoundCall extends OpenCall<AskingRequest> {
  /** The id of the leg under way, or of the last one. The first leg has the caller's id. */
  wireId: RequestId
  rounds = 0
  /** The current or last leg, if it had answers or a state: only such a leg may be sent again. */
  leg: WireRequest | undefined
  /** How often the stream of this round broke off. */
  breaks = 0
  /** How many rounds in a row had no questions. */
  emptyRounds = 0
  #progress = Number.NEGATIVE_INFINITY

  constructor(request: AskingRequest, options: SendOptions | undefined) {
    super(request, options)
    this.wireId = request.id
  }

  /** The key by which the leg is looked up. */
  get wireKey(): RequestId {
    return idKey(this.wireId)
  }

  /** Whether the caller's request continues a call that began before. */
  get bringsAnswers(): boolean {
    return 'inputResponses' in this.params || 'requestState' in this.params
  }

  get about(): AskedCall {
    const name = this.params['name'] ?? this.params['uri']
    return { method: this.request.method, name: typeof name === 'string' ? name : undefined }
  }

  /** The next leg: the first parameters again, with the answers and the state of this round only. Its progress token is its id. */
  next(answers: Readonly<Record<string, Json>> | undefined, requestState: string | undefined): WireRequest {
    this.breaks = 0
    const id = this.#nextId()
    const { inputResponses: _responses, requestState: _state, ...lasting } = this.params
    const round = {
      ...(answers !== undefined && { inputResponses: answers }),
      ...(requestState !== undefined && { requestState }),
    }
    return { ...this.request, id, params: { ...lasting, ...ownProgress(lasting, id), ...round } }
  }

  /** The repeat of a leg that reached no server, or whose answer was lost. */
  again(leg: WireRequest): WireRequest {
    const id = this.#nextId()
    const params = paramsOf(leg)
    return { ...leg, id, params: { ...params, ...ownProgress(params, id) } }
  }

  #nextId(): string {
    const id = `${mintId()}${LEG}`
    this.wireId = id
    return id
  }

  /** The caller's options without those for the first leg alone: the stream to resume, and the callback for its end. */
  get nextOptions(): SendOptions | undefined {
    if (this.options === undefined) return undefined
    return { ...this.options, resumptionToken: undefined, relatedRequestId: undefined, onRequestStreamEnd: undefined }
  }

  /** Notes progress; false when it goes back. A later leg reports from the beginning again, but to the same caller. */
  advance(progress: unknown): boolean {
    if (typeof progress !== 'number') return true
    if (progress <= this.#progress) return false
    this.#progress = progress
    return true
  }

  /** A progress notification of a later leg, with the caller's own token. */
  progress(message: WireMessage): WireMessage {
    const { progressToken } = metaIn(this.params)
    return { ...message, params: { ...paramsOf(message), progressToken } }
  }

  /** The answer to any leg, as the answer to the caller. The result of a retry must not be cached for other calls. */
  answer(message: WireResponse): WireMessage {
    if (this.rounds === 0 && !this.bringsAnswers) return message
    const { result } = message
    return { ...message, id: this.id, ...(isObject(result) && { result: uncacheable(result) }) }
  }
}

/** The `_meta` with another progress token; nothing where the caller wants no progress. */
function ownProgress(params: Json, progressToken: string): Json {
  const meta = metaIn(params)
  return meta['progressToken'] === undefined ? {} : { _meta: { ...meta, progressToken } }
}

/** The calls of one transport, looked up by the leg under way or by the caller's request. */
export class RoundCalls {
  /** Calls with a leg under way, by that leg. */
  readonly #legs = new Map<RequestId, RoundCall>()
  /** Calls past their first leg, by the caller's request. */
  readonly #later = new Map<RequestId, RoundCall>()

  get underWay(): readonly RoundCall[] {
    return [...this.#legs.values()]
  }

  get all(): readonly RoundCall[] {
    return [...this.#legs.values(), ...this.#later.values()]
  }

  legSent(call: RoundCall): void {
    this.#legs.set(call.wireKey, call)
  }

  legAnswered(call: RoundCall): void {
    this.#legs.delete(call.wireKey)
  }

  continues(call: RoundCall): void {
    this.#later.set(call.key, call)
  }

  byLeg(id: RequestId): RoundCall | undefined {
    return this.#legs.get(idKey(id))
  }

  byCaller(id: RequestId): RoundCall | undefined {
    const key = idKey(id)
    return this.#later.get(key) ?? this.#legs.get(key)
  }

  /** Whether an answer is a second one to a leg: a leg is answered once, and the client does not know its id. */
  isSpent(id: RequestId): boolean {
    return isLegId(id) || this.#later.has(idKey(id))
  }

  forget(call: RoundCall): void {
    call.end()
    if (this.#legs.get(call.wireKey) === call) this.#legs.delete(call.wireKey)
    if (this.#later.size > 0 && this.#later.get(call.key) === call) this.#later.delete(call.key)
  }
}
