/** One request of a caller, through all its rounds. Everything that belongs to it is here, and nothing of any other. */
import { hasEnvelope, isObject, type Json, type RequestId } from '../../protocol/index.ts'
import {
  idKey,
  isMinted,
  metaIn,
  mintId,
  paramsOf,
  uncacheable,
  type WireAnswer,
  type WireRequest,
} from '../layer/message.ts'
import type { SendOptions, WireMessage } from '../layer/transport.ts'
import type { AskedCall } from '../questions/answerer.ts'
import { hasProgressToken, paramsOfLeg } from '../questions/inputRequests.ts'
import { ASKING_METHODS, type AskingMethod } from '../suspend/savedCall.ts'

type AskingRequest = WireRequest & { readonly method: AskingMethod }

const asking: ReadonlySet<string> = new Set(ASKING_METHODS)

export function isAsking(message: WireRequest): message is AskingRequest {
  return asking.has(message.method)
}

const LEG = '/leg'

/** Whether an id is that of a later leg. It says so itself: other layers, on either side, have requests of their own. */
export function isLegId(id: unknown): id is string {
  return isMinted(id) && id.endsWith(LEG)
}

export class RoundCall {
  /** As the caller sent it. */
  readonly request: AskingRequest
  readonly params: Json
  readonly options: SendOptions | undefined
  /** The id of the leg under way, or of the last one; the first leg has the caller's. */
  wireId: RequestId
  rounds = 0
  /** How many rounds in a row asked nobody. */
  idle = 0
  /** The caller has its answer, or wants none any more. */
  over = false
  #ended: AbortController | undefined

  constructor(request: AskingRequest, options: SendOptions | undefined) {
    this.request = request
    this.params = paramsOf(request)
    this.options = options
    this.wireId = request.id
  }

  get callerId(): RequestId {
    return this.request.id
  }

  /** What the leg and the caller's request are found by. */
  get wireKey(): RequestId {
    return idKey(this.wireId)
  }

  get callerKey(): RequestId {
    return idKey(this.callerId)
  }

  /** Whether its client speaks the stateless revision, and so knows rounds itself. */
  get isModern(): boolean {
    return hasEnvelope(this.params)
  }

  get about(): AskedCall {
    const name = this.params['name'] ?? this.params['uri']
    return { method: this.request.method, name: typeof name === 'string' ? name : undefined }
  }

  /** Aborted when the call is over, in whatever way. */
  get signal(): AbortSignal {
    this.#ended ??= new AbortController()
    return this.#ended.signal
  }

  end(): void {
    this.over = true
    this.#ended?.abort()
  }

  /** The next leg, as it goes out. Its progress token is its id. */
  next(answers: Readonly<Record<string, Json>> | undefined, requestState: string | undefined): WireRequest {
    const id = `${mintId()}${LEG}`
    this.wireId = id
    return {
      ...this.request,
      id,
      params: paramsOfLeg({ first: this.params, answers, requestState, progressToken: id }),
    }
  }

  /** What was said about the first leg alone does not hold for another: the stream to resume, and its end. */
  get nextOptions(): SendOptions | undefined {
    if (this.options === undefined) return undefined
    return { ...this.options, resumptionToken: undefined, relatedRequestId: undefined, onRequestStreamEnd: undefined }
  }

  get wantsProgress(): boolean {
    return hasProgressToken(this.params)
  }

  /** A progress notification of a later leg, with the token the caller knows. */
  progress(message: WireMessage): WireMessage {
    const { progressToken } = metaIn(this.params)
    return { ...message, params: { ...paramsOf(message), progressToken } }
  }

  /** The answer of any leg, as the caller's. What came by a retry is not kept for another call. */
  answer(message: WireAnswer): WireMessage {
    const isRetry = this.rounds > 0 || 'inputResponses' in this.params || 'requestState' in this.params
    if (!isRetry) return message
    const { result } = message
    return { ...message, id: this.callerId, ...(isObject(result) && { result: uncacheable(result) }) }
  }
}

/** The calls of one transport, found by the leg that is under way, or by what their caller knows them by. */

export class RoundCalls {
  /** With a leg under way, by that. */
  readonly #legs = new Map<RequestId, RoundCall>()
  /** Past their first leg, by the caller's request. */
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

  goesOn(call: RoundCall): void {
    this.#later.set(call.callerKey, call)
  }

  byLeg(id: RequestId): RoundCall | undefined {
    return this.#legs.get(idKey(id))
  }

  byCaller(id: RequestId): RoundCall | undefined {
    const key = idKey(id)
    return this.#later.get(key) ?? this.#legs.get(key)
  }

  /** A leg is answered once, and then means nothing to the client any more. */
  isSpent(id: RequestId): boolean {
    return isLegId(id) || this.#later.has(idKey(id))
  }

  forget(call: RoundCall): void {
    call.end()
    if (this.#legs.get(call.wireKey) === call) this.#legs.delete(call.wireKey)
    if (this.#later.size > 0 && this.#later.get(call.callerKey) === call) this.#later.delete(call.callerKey)
  }
}
