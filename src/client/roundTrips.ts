/**
 * The calls of one transport, each through as many rounds as its server asks for.
 *
 * - Each leg is the first request again, with a fresh id, the answers and the state of the round before, and nothing of
 *   any other round or call (MRTR-8 to 11, 25 to 27).
 * - The caller's cancellation reaches the leg under way, or the answerers. Progress of any leg reaches the caller.
 * - The caller gets one answer.
 */
import { isObject, type Json, type RequestId } from '../protocol/index.ts'
import { type Answered, answerAll, pause } from './answering.ts'
import type { Ends } from './around.ts'
import { ClientError } from './errors.ts'
import { type InputRequired, pauseMs, readInputRequired } from './inputRequired.ts'
import type { Questioner } from './questioner.ts'
import type { RoundCall } from './roundCall.ts'
import { suspendCall } from './suspend.ts'
import type { SendOptions, WireMessage } from './transport.ts'
import {
  errorMessage,
  INTERNAL_ERROR,
  isMinted,
  paramsOf,
  resultMessage,
  type WireAnswer,
  withParams,
} from './wireMessage.ts'

export class RoundTrips {
  readonly #ends: Ends
  readonly #questioner: Questioner
  readonly #maxRounds: number
  /** Calls with a leg under way, by its id. */
  readonly #legs = new Map<unknown, RoundCall>()
  /** Calls past their first leg, by the caller's id. */
  readonly #later = new Map<unknown, RoundCall>()

  constructor(ends: Ends, questioner: Questioner, maxRounds: number) {
    this.#ends = ends
    this.#questioner = questioner
    this.#maxRounds = maxRounds
  }

  /** A pushed question does not say which call it belongs to; with one under way there is no doubt. */
  get onlyCall(): RoundCall | undefined {
    return this.#legs.size === 1 ? this.#legs.values().next().value : undefined
  }

  async begin(call: RoundCall): Promise<void> {
    this.#legs.set(call.wireId, call)
    const { requestSignal } = call.options ?? {}
    if (requestSignal instanceof AbortSignal) {
      requestSignal.addEventListener('abort', () => this.#forget(call), { once: true })
    }
    try {
      await this.#ends.send(call.request, call.options)
    } catch (error) {
      this.#forget(call)
      throw error
    }
  }

  answered(message: WireAnswer, extra: unknown): void {
    const { id } = message
    // The SDKs take "7" for 7.
    const call = this.#legs.get(id) ?? this.#legs.get(Number(id))
    if (call !== undefined) return this.#settle(call, message, extra)
    // A leg is answered once, and then means nothing to the client any more.
    const isSpent = isMinted(id) || this.#later.has(id) || this.#later.has(Number(id))
    if (!isSpent) this.#ends.deliver(message, extra)
  }

  progressed(message: WireMessage, extra: unknown): void {
    const token = paramsOf(message)['progressToken']
    const call = this.#legs.get(token)
    if (!isMinted(token)) this.#ends.deliver(message, extra)
    else if (call !== undefined) this.#ends.deliver(call.progress(message), extra)
  }

  /** The caller cancels: that ends the leg under way, or the asking. */
  async cancel(id: RequestId, message: WireMessage, options: SendOptions | undefined): Promise<void> {
    const call = this.#later.get(id) ?? this.#legs.get(id)
    if (call === undefined) return this.#ends.send(message, options)
    const isUnderWay = this.#legs.get(call.wireId) === call
    this.#forget(call)
    if (!isUnderWay) return undefined
    return this.#ends.send(withParams(message, { ...paramsOf(message), requestId: call.wireId }), options)
  }

  end(): void {
    for (const call of [...this.#legs.values(), ...this.#later.values()]) this.#forget(call)
  }

  #settle(call: RoundCall, message: WireAnswer, extra: unknown): void {
    this.#legs.delete(call.wireId)
    const { result } = message
    switch (isObject(result) ? result['resultType'] : undefined) {
      case 'input_required':
        void this.#round(call, message, extra)
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
      const asked = readInputRequired(result)
      // Where the client speaks the stateless revision, it may have what answers the rest.
      const isForClient = call.isModern && !this.#questioner.answersAll(asked)
      if (isForClient) return this.#answer(call, { ...message, id: call.callerId }, extra)
      if (++call.rounds > this.#maxRounds) throw endless(this.#maxRounds)
      this.#later.set(call.callerId, call)
      this.#questioner.heardServer(result)
      await this.#goOn(call, asked)
    } catch (error) {
      this.#fail(call, error)
    }
  }

  async #goOn(call: RoundCall, asked: InputRequired): Promise<void> {
    if (asked.questions.length > 0) call.idle = 0
    else await pause(pauseMs(++call.idle), call.signal)
    this.#questioner.assertAnswerable(asked)
    const round = await answerAll(asked, call.signal, (question) =>
      this.#questioner.ask({ ...question, call: call.about }),
    )
    if (call.over) return
    if (Object.keys(round.open).length > 0) return this.#suspend(call, asked, round)
    await this.#sendLeg(call, call.next(asked.questions.length > 0 ? round.answers : undefined, asked.requestState))
  }

  async #sendLeg(call: RoundCall, leg: WireMessage): Promise<void> {
    this.#legs.set(leg.id, call)
    try {
      await this.#ends.send(leg, call.nextOptions)
    } catch (cause) {
      // Its answer may have come all the same, and the call be further by now.
      if (this.#legs.get(leg.id) !== call) return
      throw new ClientError('ROUND_UNSENT', 'A later round of the call could not be sent; see the cause.', { cause })
    }
  }

  async #suspend(call: RoundCall, { requestState }: InputRequired, { open, answers }: Answered): Promise<void> {
    const { params, request } = call
    const { server } = this.#questioner
    const round = { method: request.method, params, open, inputResponses: answers, requestState, server }
    this.#answer(call, resultMessage(call.callerId, await suspendCall(round)))
  }

  #fail(call: RoundCall, error: unknown): void {
    const known = error instanceof ClientError ? error : undefined
    const sentence = known?.message ?? 'A question of the server could not be answered; see the cause.'
    const data = { code: known?.code ?? 'ANSWER_FAILED', cause: known === undefined ? error : known.cause } as const
    this.#answer(call, errorMessage(call.callerId, INTERNAL_ERROR, sentence, data))
  }

  #answer(call: RoundCall, message: WireMessage, extra?: unknown): void {
    if (call.over) return
    this.#forget(call)
    this.#ends.deliver(message, extra)
  }

  #forget(call: RoundCall): void {
    call.cancel()
    if (this.#legs.get(call.wireId) === call) this.#legs.delete(call.wireId)
    if (this.#later.get(call.callerId) === call) this.#later.delete(call.callerId)
  }
}

function endless(maxRounds: number): ClientError {
  const sentence = `The server still asks after ${maxRounds} rounds; raise "maxRounds" if that is what you expect.`
  return new ClientError('ROUNDS_ENDLESS', sentence)
}
