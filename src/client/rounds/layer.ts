/**
 * Multi round-trip requests for a client that need not know of them. The caller's request stays open while this layer
 * answers what the server asks and sends the request again, until there is a result (`roundTrips.ts`). Questions that a
 * session-era server pushes get the same answers.
 */
import { hasEnvelope, ROUNDS_CAPABILITY, type RequestId } from '../../protocol/index.ts'
import type { Answerers } from '../questions/answerer.ts'
import { createLayer, type LayerContext, type LayerHandlers } from '../layer/layer.ts'
import { type Declare, declaring, extended } from '../layer/capabilities.ts'
import { MAX_STATE_BYTES } from '../questions/inputRequests.ts'
import { readQuestion, withAnswerers } from '../questions/kinds.ts'
import { PushedQuestions } from '../questions/pushed.ts'
import { Questioner } from '../questions/dispatcher.ts'
import { isAsking, RoundCall } from './call.ts'
import { RoundTrips } from './trips.ts'
import type { SavedPlace } from '../config/savedPlace.ts'
import { SharedRounds } from './sharedRounds.ts'
import type { Layer, SendOptions, WireMessage } from '../layer/transport.ts'
import { cancelledId, isAnswer, isRequest, paramsOf, type WireRequest } from '../layer/message.ts'

export interface RoundsOptions {
  /** Who answers what. Each kind is declared to the server, beside what the client declares itself. */
  answerers: Answerers
  /** How often one call is sent again before it fails. @default 10 */
  maxRounds?: number
  /** The largest state that a server may have sent back. @default 4194304 */
  maxStateBytes?: number
  /** Who asks, for the answerers. @default the name the server gives itself, and no target */
  server?: { readonly name?: string | undefined; readonly target?: string | undefined }
  /** Where a call that is put to sleep finds the server again, by `placeOf(target)`. @default the server's `target` */
  place?: SavedPlace
}

export function rounds(options: RoundsOptions): Layer {
  return (transport) => createLayer(transport, (ends) => new Rounds(ends, options))
}

class Rounds implements LayerHandlers {
  readonly #ends: LayerContext
  readonly #declare: Declare
  readonly #questioner: Questioner
  readonly #shared = new SharedRounds()
  readonly #trips: RoundTrips
  readonly #pushed: PushedQuestions
  /** The request whose result says who the server is. */
  #greeting: RequestId | undefined
  /** The stateless revision has no pushed questions, and clients must not answer any. */
  #isModern = false

  constructor(ends: LayerContext, options: RoundsOptions) {
    const { answerers, maxRounds = 10, maxStateBytes = MAX_STATE_BYTES, server, place } = options
    this.#ends = ends
    this.#declare = declaring((capabilities, era) => {
      const answering = withAnswerers(capabilities, answerers)
      return era === 'modern' ? answering : extended(answering, 'experimental', { [ROUNDS_CAPABILITY]: {} })
    })
    this.#questioner = new Questioner(ends, answerers, server)
    this.#trips = new RoundTrips(ends, this.#questioner, { maxRounds, maxStateBytes, place, shared: this.#shared })
    this.#pushed = new PushedQuestions(ends, this.#questioner)
  }

  send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    if (isRequest(message)) return this.#request(message, options)
    if (isAnswer(message) && this.#questioner.take(message)) return Promise.resolve()
    const cancelled = cancelledId(message)
    if (cancelled === undefined) return this.#ends.send(message, options)
    return this.#trips.cancel(cancelled, message, options)
  }

  receive(message: WireMessage, extra: unknown): void {
    if (isAnswer(message)) {
      if (message.id === this.#greeting) this.#questioner.heardServer(message['result'])
      return this.#trips.answered(message, extra)
    }
    if (isRequest(message)) return this.#asked(message, extra)
    if (message.method === 'notifications/progress') return this.#trips.progressed(message, extra)
    const cancelled = cancelledId(message)
    if (cancelled === undefined || !this.#pushed.cancel(cancelled)) this.#ends.deliver(message, extra)
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
      this.#questioner.heardClient(paramsOf(message)['capabilities'])
    }
    return this.#ends.send(declared, options)
  }

  #asked(message: WireRequest, extra: unknown): void {
    const request = this.#isModern ? undefined : readQuestion(message)
    if (request === undefined || !this.#questioner.answers(request)) this.#ends.deliver(message, extra)
    else void this.#pushed.answer(message, request, this.#trips.underWay)
  }
}
