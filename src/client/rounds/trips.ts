/**
 * The calls of one transport, each through as many rounds as its server asks for.
 *
 * - Each leg is the first request again, with a fresh id, the answers and the state of the round before, and nothing of
 *   any other round or call (MRTR-8 to 11, 25 to 27).
 * - The caller's cancellation reaches the leg under way, or the answerers. Progress of any leg reaches the caller.
 * - The caller gets one answer.
 */
import { CODES, isObject, type Json, type RequestId } from '../../protocol/index.ts'
import { type Answered, answerAll, pause } from '../questions/answerAll.ts'
import type { LayerContext } from '../layer/layer.ts'
import { ClientError, SEE_CAUSE } from '../errors.ts'
import { type InputRequired, pauseMs, readInputRequired } from '../questions/inputRequests.ts'
import type { Questioner } from '../questions/dispatcher.ts'
import { isLegId, type RoundCall, RoundCalls } from './call.ts'
import type { SavedPlace } from '../config/savedPlace.ts'
import { declares, type SharedRounds } from './sharedRounds.ts'
import { suspendCall } from '../suspend/suspend.ts'
import type { SendOptions, WireMessage } from '../layer/transport.ts'
import {
  errorMessage,
  paramsOf,
  requestSignalIn,
  resultMessage,
  type WireAnswer,
  type WireRequest,
  withParams,
} from '../layer/message.ts'

export interface RoundSettings {
  readonly maxRounds: number
  readonly maxStateBytes: number
  readonly place: SavedPlace | undefined
  readonly shared: SharedRounds
}

export class RoundTrips {
  readonly #ends: LayerContext
  readonly #questioner: Questioner
  readonly #settings: RoundSettings
  readonly #calls = new RoundCalls()

  constructor(ends: LayerContext, questioner: Questioner, settings: RoundSettings) {
    this.#ends = ends
    this.#questioner = questioner
    this.#settings = settings
  }

  /** Those the server works on. */
  get underWay(): readonly RoundCall[] {
    return this.#calls.underWay
  }

  begin(call: RoundCall): Promise<void> {
    this.#calls.legSent(call)
    const sent = this.#ends.send(call.request, call.options)
    sent.then(
      () => this.#watch(call),
      () => this.#calls.forget(call),
    )
    return sent
  }

  answered(message: WireAnswer, extra: unknown): void {
    const call = this.#calls.byLeg(message.id)
    if (call !== undefined) this.#settle(call, message, extra)
    else if (!this.#calls.isSpent(message.id)) this.#ends.deliver(message, extra)
  }

  progressed(message: WireMessage, extra: unknown): void {
    const token = paramsOf(message)['progressToken']
    if (!isLegId(token)) return this.#ends.deliver(message, extra)
    const call = this.#calls.byLeg(token)
    if (call !== undefined) this.#ends.deliver(call.progress(message), extra)
  }

  /** The caller cancels: that ends the leg under way, or the asking. */
  async cancel(id: RequestId, message: WireMessage, options: SendOptions | undefined): Promise<void> {
    const call = this.#calls.byCaller(id)
    if (call === undefined) return this.#ends.send(message, options)
    const isUnderWay = this.#calls.byLeg(call.wireId) === call
    this.#calls.forget(call)
    if (!isUnderWay) return undefined
    return this.#ends.send(withParams(message, { ...paramsOf(message), requestId: call.wireId }), options)
  }

  /** Whoever waits for a person is told here what the connection came to; a request under way is told by its transport. */
  end(isLost: boolean): void {
    for (const call of this.#calls.all) {
      const isUnderWay = this.#calls.byLeg(call.wireId) === call
      if (isLost && !isUnderWay) this.#fail(call, lost())
      else this.#calls.forget(call)
    }
  }

  #settle(call: RoundCall, message: WireAnswer, extra: unknown): void {
    this.#calls.legAnswered(call)
    const { result } = message
    switch (isObject(result) ? result['resultType'] : undefined) {
      case 'input_required':
        this.#round(call, message, extra).catch((error: unknown) => this.#ends.report(error as Error))
        break
      case undefined:
      case 'complete':
      case 'task':
        this.#answer(call, call.answer(message), extra)
        break
      default:
        this.#fail(
          call,
          new ClientError('RESULT_UNKNOWN', 'The server gave a result of a kind that nobody here knows.'),
        )
    }
  }

  async #round(call: RoundCall, message: WireAnswer, extra: unknown): Promise<void> {
    try {
      const result = message['result'] as Json
      const asked = readInputRequired(result, this.#settings.maxStateBytes)
      // Where the client speaks the stateless revision, it may have what answers the rest.
      const isForClient = call.isModern && !this.#questioner.answersAll(asked)
      if (isForClient) return await this.#share(call, message, asked, extra)
      if (++call.rounds > this.#settings.maxRounds) throw endless(this.#settings.maxRounds)
      this.#calls.goesOn(call)
      this.#questioner.heardServer(result)
      await this.#goOn(call, asked)
    } catch (error) {
      this.#fail(call, error)
    }
  }

  /** The client gets what no answerer is there for: a part of the round, or all of it as it came. */
  async #share(call: RoundCall, message: WireAnswer, asked: InputRequired, extra: unknown): Promise<void> {
    const { ours, theirs } = this.#questioner.sorted(asked)
    const result = message['result'] as Json
    const isShared = ours.length > 0 && declares(call.params, theirs)
    if (!isShared) return this.#answer(call, { ...message, id: call.callerId }, extra)
    this.#calls.goesOn(call)
    this.#questioner.heardServer(result)
    const round = await this.#ask(call, ours)
    if (call.over) return
    const [open] = Object.values(round.open)
    // A call that is put to sleep takes along what the client would have been asked.
    const rest = open && Object.fromEntries(theirs.map(([key, request]) => [key, { ...open, request }]))
    if (rest) return this.#suspend(call, asked, { ...round, open: { ...round.open, ...rest } })
    const part = this.#settings.shared.share(result, theirs, round.answers, asked.requestState)
    this.#answer(call, { ...message, id: call.callerId, result: part }, extra)
  }

  #ask(call: RoundCall, questions: InputRequired['questions']): Promise<Answered> {
    return answerAll(questions, call.signal, (question) => this.#questioner.ask({ ...question, call: call.about }))
  }

  async #goOn(call: RoundCall, asked: InputRequired): Promise<void> {
    if (asked.questions.length > 0) call.idle = 0
    else await pause(pauseMs(++call.idle), call.signal)
    this.#questioner.assertAnswerable(asked)
    const round = await this.#ask(call, asked.questions)
    if (call.over) return
    if (Object.keys(round.open).length > 0) return this.#suspend(call, asked, round)
    await this.#sendLeg(call, call.next(asked.questions.length > 0 ? round.answers : undefined, asked.requestState))
  }

  async #sendLeg(call: RoundCall, leg: WireRequest): Promise<void> {
    this.#calls.legSent(call)
    try {
      await this.#ends.send(leg, call.nextOptions)
    } catch (cause) {
      // Its answer may have come all the same, and the call be further by now.
      if (this.#calls.byLeg(leg.id) !== call) return
      throw new ClientError('ROUND_UNSENT', `A later round of the call could not be sent. ${SEE_CAUSE}`, { cause })
    }
  }

  async #suspend(call: RoundCall, { requestState }: InputRequired, { open, answers }: Answered): Promise<void> {
    const { params, request } = call
    const { server } = this.#questioner
    const { place } = this.#settings
    const round = { method: request.method, params, open, inputResponses: answers, requestState, server, place }
    this.#answer(call, resultMessage(call.callerId, await suspendCall(round)))
  }

  #fail(call: RoundCall, error: unknown): void {
    const known = error instanceof ClientError ? error : undefined
    const sentence = known?.message ?? `A question of the server could not be answered. ${SEE_CAUSE}`
    const data = { code: known?.code ?? 'ANSWER_FAILED', cause: known === undefined ? error : known.cause } as const
    this.#answer(call, errorMessage(call.callerId, CODES.INTERNAL_ERROR, sentence, data))
  }

  #answer(call: RoundCall, message: WireMessage, extra?: unknown): void {
    if (call.over) return
    this.#calls.forget(call)
    this.#ends.deliver(message, extra)
  }

  /** Until it is sent, the transport tells by failing that its caller gave it up; and then it may be over already. */
  #watch(call: RoundCall): void {
    const signal = requestSignalIn(call.options)
    if (call.over || signal === undefined) return
    if (signal.aborted) this.#calls.forget(call)
    else signal.addEventListener('abort', () => this.#calls.forget(call), { once: true })
  }
}

function lost(): ClientError {
  const sentence = 'The connection ended before the call was done; what it has done so far may have had effects.'
  return new ClientError('STREAM_ENDED', sentence)
}

function endless(maxRounds: number): ClientError {
  const sentence = `The server still asks after ${maxRounds} rounds; raise "maxRounds" if that is what you expect.`
  return new ClientError('ROUNDS_ENDLESS', sentence)
}
