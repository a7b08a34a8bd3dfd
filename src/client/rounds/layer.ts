/**
 * Multi round-trip requests for a client that need not know them. The caller's request stays open while this layer
 * answers what the server asks and sends the request again, until there is a result (`trips.ts`). Questions that a
 * session-era server pushes go to the same answerers.
 */
import {
  assertOptionNames,
  CODES,
  hasEnvelope,
  isObject,
  type OptionNames,
  type RequestId,
  ROUNDS_CAPABILITY,
} from '../../protocol/index.ts'
import type { SavedPlace } from '../config/savedPlace.ts'
import { type Declare, declaring, extended } from '../layer/capabilities.ts'
import { createLayer, type LayerContext, type LayerHandlers } from '../layer/layer.ts'
import { inputMisplaced } from '../errors.ts'
import {
  asksForInput,
  cancelledId,
  errorMessage,
  idKey,
  isResponse,
  isRequest,
  paramsOf,
  type WireRequest,
  type WireResponse,
} from '../layer/message.ts'
import { hasProcess, type Layer, type SendOptions, type WireMessage } from '../layer/transport.ts'
import type { Answerers } from '../questions/answerer.ts'
import { Dispatcher } from '../questions/dispatcher.ts'
import { readInputRequest } from '../questions/inputRequests.ts'
import { withAnswerers } from '../questions/kinds.ts'
import { DEFAULT_MAX_ROUNDS, MAX_STATE_BYTES } from '../questions/limits.ts'
import { PushedQuestions } from '../questions/pushed.ts'
import { isAsking, RoundCall } from './call.ts'
import { SharedRounds } from './sharedRounds.ts'
import { RoundTrips } from './trips.ts'

export interface RoundsOptions {
  /** Who answers what. Each kind is declared to the server, beside what the client itself declares. */
  answerers: Answerers
  /** How often one call is sent again before it fails. @default 100 */
  maxRounds?: number
  /** The largest state that a server may have sent back. @default 4194304 */
  maxStateBytes?: number
  /** Who asks, for the answerers. @default the name the server gives itself, and no target */
  server?: { readonly name?: string | undefined; readonly target?: string | undefined }
  /** Where a suspended call finds the server again, by `placeOf(target)`. @default the server's `target` */
  place?: SavedPlace
}

const ROUNDS_OPTIONS: OptionNames<RoundsOptions> = {
  answerers: true,
  maxRounds: true,
  maxStateBytes: true,
  server: true,
  place: true,
}

/** A layer that answers what servers ask and sends the call again, until it has a result. */
export function rounds(options: RoundsOptions): Layer {
  assertOptionNames(options, ROUNDS_OPTIONS, 'rounds()')
  return (transport) => createLayer(transport, (context) => new RoundsLayer(context, transport, options))
}

class RoundsLayer implements LayerHandlers {
  readonly #context: LayerContext
  readonly #declare: Declare
  readonly #dispatcher: Dispatcher
  readonly #pushed: PushedQuestions
  readonly #shared = new SharedRounds()
  readonly #trips: RoundTrips
  /** Requests of the client that its server may answer with questions, which are then the client's own. */
  readonly #payloads = new Set<RequestId>()
  /** The request whose result says who the server is. */
  #greeting: RequestId | undefined
  /** The stateless revision has no pushed questions, and clients must not answer any. */
  #isModern = false

  constructor(context: LayerContext, transport: object, options: RoundsOptions) {
    const { answerers, maxRounds = DEFAULT_MAX_ROUNDS, maxStateBytes = MAX_STATE_BYTES, place } = options
    this.#context = context
    this.#declare = declaring((capabilities, era) => {
      const answering = withAnswerers(capabilities, answerers)
      return era === 'modern' ? answering : extended(answering, 'experimental', { [ROUNDS_CAPABILITY]: {} })
    })
    this.#dispatcher = new Dispatcher(options)
    this.#pushed = new PushedQuestions(this.#dispatcher, transport)
    this.#trips = new RoundTrips(context, this.#dispatcher, {
      maxRounds,
      maxStateBytes,
      place,
      shared: this.#shared,
      isRepeating: !hasProcess(transport),
    })
  }

  send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    if (isRequest(message)) return this.#request(message, options)
    if (isResponse(message) && this.#dispatcher.take(message)) return Promise.resolve()
    const cancelled = cancelledId(message)
    if (cancelled === undefined) return this.#context.send(message, options)
    return this.#trips.cancel(cancelled, message, options)
  }

  receive(message: WireMessage, extra: unknown): void {
    if (isResponse(message)) {
      if (message.id === this.#greeting) this.#dispatcher.serverAnswers(message['result'])
      return this.#trips.answered(this.#checked(message), extra)
    }
    if (isRequest(message)) return this.#asked(message, extra)
    if (message.method === 'notifications/progress') return this.#trips.progressed(message, extra)
    const cancelled = cancelledId(message)
    if (cancelled === undefined || !this.#pushed.cancel(cancelled)) this.#context.deliver(message, extra)
  }

  closed(isLost: boolean): void {
    this.#trips.end(isLost)
    this.#pushed.cancelAll()
  }

  #request(message: WireRequest, options: SendOptions | undefined): Promise<void> {
    this.#isModern = hasEnvelope(paramsOf(message))
    const declared = this.#declare(message) as WireRequest
    if (isAsking(declared)) return this.#trips.begin(new RoundCall(this.#shared.whole(declared), options))
    if (message.method === 'initialize' || message.method === 'server/discover') {
      this.#greeting = message.id
      this.#dispatcher.clientDeclares(paramsOf(message)['capabilities'])
    }
    if (message.method === 'tasks/result') this.#payloads.add(idKey(message.id))
    return this.#context.send(declared, options)
  }

  /** The response as the client can read it; an error where a server asks although it must not (MRTR-7). */
  #checked(message: WireResponse): WireResponse {
    const isPayload = this.#payloads.delete(idKey(message.id))
    const { result } = message
    if (isObject(result) && this.#isModern && result['resultType'] === undefined) {
      // Clients of the stateless revision want the type; absent, it is complete (MRTR-5).
      return { ...message, result: { resultType: 'complete', ...result } }
    }
    if (isPayload || !asksForInput(result) || this.#trips.has(message.id)) return message
    const { code, message: sentence } = inputMisplaced()
    return errorMessage(message.id, CODES.INTERNAL_ERROR, sentence, { code }) as WireResponse
  }

  #asked(message: WireRequest, extra: unknown): void {
    const request = this.#isModern ? undefined : readInputRequest(message)
    if (request === undefined || !this.#dispatcher.hasAnswerer(request)) this.#context.deliver(message, extra)
    else void this.#pushed.answer(message, request, this.#trips.underWay, this.#context)
  }
}
