/**
 * The calls of one transport, with all their rounds.
 *
 * - Each leg is the first request again, with a fresh id, the answers and the state of the round before, and nothing of
 *   any other round or call (MRTR-8 to 11, 25 to 27).
 * - A leg that reached no server, or whose answer broke off, is repeated for some seconds, over HTTP (`legs.ts`).
 * - The caller's cancellation reaches the leg under way, or the answerers. Progress of any leg reaches the caller.
 * - The caller gets exactly one answer.
 */
import { backoffMs, CODES, isObject, type Json, type RequestId, sleep } from '../../protocol/index.ts'
import type { SavedPlace } from '../config/savedPlace.ts'
import { ClientError, SEE_CAUSE } from '../errors.ts'
import type { LayerContext } from '../layer/layer.ts'
import { errorMessage, isRequestId, paramsOf, resultMessage, type WireResponse, withParams } from '../layer/message.ts'
import type { SendOptions, WireMessage } from '../layer/transport.ts'
import { type Answered, answerAll } from '../questions/answerAll.ts'
import type { Dispatcher } from '../questions/dispatcher.ts'
import { type QuestionRound, type Questions, readInputRequired } from '../questions/inputRequests.ts'
import { assertRoundLimit } from '../questions/limits.ts'
import { suspendCall } from '../suspend/suspend.ts'
import { isLegId, type RoundCall, RoundCalls } from './call.ts'
import { Legs } from './legs.ts'
import { declaresKinds, type SharedRounds } from './sharedRounds.ts'

export interface RoundSettings {
  readonly maxRounds: number
  readonly maxStateBytes: number
  readonly place: SavedPlace | undefined
  readonly shared: SharedRounds
  /** Whether a leg that reached no server is repeated. A process that has ended does not come back. */
  readonly isRepeating: boolean
}

export class RoundTrips {
  readonly #context: LayerContext
  readonly #dispatcher: Dispatcher
  readonly #settings: RoundSettings
  readonly #calls = new RoundCalls()
  readonly #legs: Legs

  constructor(context: LayerContext, dispatcher: Dispatcher, settings: RoundSettings) {
    this.#context = context
    this.#dispatcher = dispatcher
    this.#settings = settings
    this.#legs = new Legs(context, this.#calls, settings.isRepeating)
  }

  /** The calls that the server works on. */
  get underWay(): readonly RoundCall[] {
    return this.#calls.underWay
  }

  begin(call: RoundCall): Promise<void> {
    const sent = this.#legs.sendFirst(call)
    sent.then(
      () => call.watchCaller(() => this.#calls.forget(call)),
      () => this.#calls.forget(call),
    )
    return sent
  }

  /** Whether a response with this id is for a call whose rounds are run here, or was. */
  has(id: RequestId): boolean {
    return this.#calls.byLeg(id) !== undefined || this.#calls.isSpent(id)
  }

  answered(message: WireResponse, extra: unknown): void {
    const call = this.#calls.byLeg(message.id)
    if (call !== undefined) this.#settle(call, message, extra)
    else if (!this.#calls.isSpent(message.id)) this.#context.deliver(message, extra)
  }

  progressed(message: WireMessage, extra: unknown): void {
    const { progressToken: token, progress } = paramsOf(message)
    const call = isRequestId(token) ? this.#calls.byLeg(token) : undefined
    const isAhead = call?.advance(progress) ?? true
    if (!isLegId(token)) return this.#context.deliver(message, extra)
    if (call !== undefined && isAhead) this.#context.deliver(call.progress(message), extra)
  }

  /** The caller cancels: the current leg or the current questions are aborted. */
  async cancel(id: RequestId, message: WireMessage, options: SendOptions | undefined): Promise<void> {
    const call = this.#calls.byCaller(id)
    if (call === undefined) return this.#context.send(message, options)
    const isUnderWay = this.#calls.byLeg(call.wireId) === call
    this.#calls.forget(call)
    if (!isUnderWay) return undefined
    return this.#context.send(withParams(message, { ...paramsOf(message), requestId: call.wireId }), options)
  }

  /**
   * The connection is over. If it was lost, callers with open questions get an error from here; the transport ends requests in flight.
   */
  end(isLost: boolean): void {
    for (const call of this.#calls.all) {
      const isUnderWay = this.#calls.byLeg(call.wireId) === call
      if (isLost && !isUnderWay) this.#fail(call, connectionLost())
      else this.#calls.forget(call)
    }
  }

  #settle(call: RoundCall, message: WireResponse, extra: unknown): void {
    this.#calls.legAnswered(call)
    if (hasBrokenOff(message) && this.#legs.mayRepeat(call)) return void this.#repeat(call)
    const { result } = message
    switch (isObject(result) ? result['resultType'] : undefined) {
      case 'input_required':
        this.#round(call, message, extra).catch((error: unknown) => this.#context.report(error as Error))
        break
      case undefined:
      case 'complete':
      case 'task':
        this.#answer(call, call.answer(message), extra)
        break
      default:
        this.#fail(call, new ClientError('RESULT_UNKNOWN', 'The server gave a result of an unknown kind.'))
    }
  }

  async #repeat(call: RoundCall): Promise<void> {
    await this.#legs.repeat(call).catch((cause: unknown) => this.#fail(call, roundUnsent(cause)))
  }

  async #round(call: RoundCall, message: WireResponse, extra: unknown): Promise<void> {
    try {
      const result = message['result'] as Json
      const round = readInputRequired(result, this.#settings.maxStateBytes)
      // A client of the stateless revision may itself answer questions without an answerer.
      const isForClient = call.isModern && !this.#dispatcher.hasAllAnswerers(round.questions)
      if (isForClient) return await this.#share(call, message, round, extra)
      assertRoundLimit(++call.rounds, this.#settings.maxRounds, 'server')
      this.#calls.continues(call)
      this.#dispatcher.serverAnswers(result)
      await this.#nextLeg(call, round)
    } catch (error) {
      this.#fail(call, error)
    }
  }

  /** The client gets the questions that have no answerer: a part of the round, or the whole round as it came. */
  async #share(call: RoundCall, message: WireResponse, round: QuestionRound, extra: unknown): Promise<void> {
    const { ours, theirs } = this.#dispatcher.split(round.questions)
    const result = message['result'] as Json
    const isShared = ours.length > 0 && declaresKinds(call.params, theirs)
    if (!isShared) return this.#answer(call, { ...message, id: call.id }, extra)
    this.#calls.continues(call)
    this.#dispatcher.serverAnswers(result)
    const answered = await this.#ask(call, ours)
    if (call.isOver) return
    const [open] = Object.values(answered.open)
    // When the call is suspended, the client's questions are saved with it.
    const rest = open && Object.fromEntries(theirs.map(([key, request]) => [key, { ...open, request }]))
    if (rest) return this.#suspend(call, round, { ...answered, open: { ...answered.open, ...rest } })
    const part = this.#settings.shared.share(result, theirs, answered.answers, round.requestState)
    this.#answer(call, { ...message, id: call.id, result: part }, extra)
  }

  #ask(call: RoundCall, questions: Questions): Promise<Answered> {
    return answerAll(questions, call.signal, (question) =>
      this.#dispatcher.ask({ ...question, call: call.about }, this.#context),
    )
  }

  async #nextLeg(call: RoundCall, round: QuestionRound): Promise<void> {
    const { questions, requestState } = round
    if (questions.length > 0) call.emptyRounds = 0
    else await pauseAfterEmptyRounds(++call.emptyRounds, call.signal)
    this.#dispatcher.assertAnswerable(questions)
    const answered = await this.#ask(call, questions)
    if (call.isOver) return
    if (Object.keys(answered.open).length > 0) return this.#suspend(call, round, answered)
    const leg = call.next(questions.length > 0 ? answered.answers : undefined, requestState)
    await this.#legs.send(call, leg, call.nextOptions).catch((cause: unknown) => {
      throw roundUnsent(cause)
    })
  }

  async #suspend(call: RoundCall, { requestState }: QuestionRound, { open, answers }: Answered): Promise<void> {
    const { params, request } = call
    const { server } = this.#dispatcher
    const { place } = this.#settings
    const round = { method: request.method, params, open, inputResponses: answers, requestState, server, place }
    this.#answer(call, resultMessage(call.id, await suspendCall(round)))
  }

  #fail(call: RoundCall, error: unknown): void {
    const known = error instanceof ClientError ? error : undefined
    const sentence = known?.message ?? `A question of the server could not be answered. ${SEE_CAUSE}`
    const data = { code: known?.code ?? 'ANSWER_FAILED', cause: known === undefined ? error : known.cause } as const
    this.#answer(call, errorMessage(call.id, CODES.INTERNAL_ERROR, sentence, data))
  }

  #answer(call: RoundCall, message: WireMessage, extra?: unknown): void {
    if (call.isOver) return
    this.#calls.forget(call)
    this.#context.deliver(message, extra)
  }
}

/** Whether this error means a missing answer. If the server itself sends it, the round is repeated a few times. */
function hasBrokenOff({ error }: WireResponse): boolean {
  return isObject(error) && isObject(error['data']) && error['data']['code'] === 'STREAM_ENDED'
}

/** The pause before the next leg after rounds without questions. The first such round has none. */
async function pauseAfterEmptyRounds(rounds: number, signal: AbortSignal): Promise<void> {
  if (rounds > 1) await sleep(backoffMs(rounds - 1, { firstMs: 25, maxMs: 2_000 }), signal)
}

function roundUnsent(cause: unknown): ClientError {
  const sentence = 'A later round of the call could not be sent. Call again; the rounds so far may have had effects.'
  return new ClientError('ROUND_UNSENT', `${sentence} ${SEE_CAUSE}`, { cause })
}

function connectionLost(): ClientError {
  const sentence = 'The connection ended before the call was done; what it has done so far may have had effects.'
  return new ClientError('STREAM_ENDED', sentence)
}
