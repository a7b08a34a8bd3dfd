/**
 * A call of a server of the session era that waits for an answer of a client of the stateless era. The server's call stays
 * open; the client gets its questions as a result, and its next round brings the answers.
 *
 * - Its generation counts the rounds that brought answers. Each of them gives one outcome, however often it is sent: a
 *   round that comes again, because its response was lost, gets that of the first.
 * - An answer reaches the question whose digest its ticket names, and no other.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json, ProtocolError } from '../../protocol/index.ts'
import { digestOf } from '../../state/internal.ts'
import { BackendError } from '../errors.ts'

/** What a round of a parked call ends with. `generation` is that of the ticket for the next one. */
export type ParkedOutcome =
  | {
      readonly kind: 'asked'
      readonly generation: number
      readonly requests: ReadonlyMap<string, InputRequest>
      readonly answers: TicketAnswers
    }
  | { readonly kind: 'done'; readonly result: Json }

/** The answers so far, each with the digest of its question. */
export type TicketAnswers = readonly (readonly [question: string, response: Json])[]

/** What a client brings back. */
export interface BroughtAnswers {
  readonly generation: number
  /** The digests of the questions that the client was asked, by their keys. */
  readonly questions: Readonly<Record<string, string>>
  readonly responses: Json
}

/** The way back to the client, which is another one in each round. */
export interface RoundChannel {
  notify(method: string, params: Json): void
  onCancel(listener: () => void): void
}

/** What the call of a server is given. */
export interface ParkedWay {
  notify(method: string, params: Json): void
  ask(request: InputRequest): Promise<Json>
  onCancel(listener: () => void): void
}

interface ParkedQuestion {
  readonly request: InputRequest
  readonly digest: string
  readonly answer: PromiseWithResolvers<Json>
}

/** Questions that a server asks at once come in one round. */
const GATHER_MS = 20
/** How many rounds a client may be behind. */
const KEPT_ROUNDS = 4

export class ParkedCall {
  readonly id: string
  readonly #server: string
  readonly #open = new Map<string, ParkedQuestion>()
  readonly #answers: (readonly [string, Json])[] = []
  /** By the generation whose answers began the round. */
  readonly #rounds = new Map<number, Promise<ParkedOutcome>>()
  readonly #cancels: (() => void)[] = []
  readonly #waiting: (() => void)[] = []
  #asked = 0
  #generation = 0
  #cancelled: Error | undefined
  #outcome: Promise<Json> | undefined
  #hasEnded = false
  #channel: RoundChannel | undefined

  constructor(id: string, server: string) {
    this.id = id
    this.#server = server
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Sends the server's call on its way; gives the outcome of the first round. */
  begin(channel: RoundChannel, call: (way: ParkedWay) => Promise<Json>): Promise<ParkedOutcome> {
    this.#channel = channel
    const outcome = call({
      notify: (method, params) => this.#channel?.notify(method, params),
      ask: (request) => this.#ask(request),
      onCancel: (listener) => void this.#cancels.push(listener),
    })
    this.#outcome = outcome
    const end = (): void => {
      this.#hasEnded = true
      this.#wake()
    }
    outcome.then(end, end)
    this.#startRound(this.#generation - 1)
    return this.#await(this.#generation - 1, channel)
  }

  async whenEnded(): Promise<Json | undefined> {
    return this.#outcome?.catch(() => undefined)
  }

  /** One round: takes answers, and waits for the next questions or the end. */
  round(channel: RoundChannel, brought: BroughtAnswers): Promise<ParkedOutcome> {
    const { generation } = brought
    if (generation < this.#generation) return this.#await(generation, channel)
    const answers = this.#fitting(brought)
    if (answers.length === 0) return this.#await(this.#generation - 1, channel)
    this.#generation++
    this.#channel = channel
    for (const [key, response] of answers) this.#answer(key, response)
    this.#startRound(generation)
    return this.#await(generation, channel)
  }

  /** Tells the server that nobody answers any more, and whoever waits for it why. */
  cancel(why: Error = this.#left()): void {
    if (this.#cancelled !== undefined) return
    this.#cancelled = why
    for (const listener of this.#cancels) listener()
    for (const { answer } of this.#open.values()) answer.reject(this.#left())
    this.#open.clear()
    this.#wake()
  }

  #startRound(generation: number): void {
    const outcome = this.#next(generation + 1)
    outcome.catch(() => {}) // nobody may be there to hear it
    this.#rounds.set(generation, outcome)
    this.#rounds.delete(generation - KEPT_ROUNDS)
  }

  /** Who waits for the newest round hears of progress, and cancels the call by leaving. */
  async #await(generation: number, channel: RoundChannel): Promise<ParkedOutcome> {
    const outcome = this.#rounds.get(generation)
    if (outcome === undefined) throw this.#tooOld()
    if (generation === this.#generation - 1) this.#channel = channel
    let isOver = false
    channel.onCancel(() => {
      if (!isOver && this.#channel === channel) this.cancel()
    })
    try {
      return await outcome
    } finally {
      isOver = true
    }
  }

  async #next(generation: number): Promise<ParkedOutcome> {
    while (!this.#hasEnded && this.#cancelled === undefined && this.#open.size === 0)
      await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    if (!this.#hasEnded) await new Promise((resolve) => setTimeout(resolve, GATHER_MS))
    if (this.#cancelled !== undefined && !this.#hasEnded) throw this.#cancelled
    if (this.#hasEnded || this.#outcome === undefined) return { kind: 'done', result: await this.#ended() }
    const requests = Array.from(this.#open, ([key, { request }]) => [key, request] as const)
    return { kind: 'asked', generation, requests: new Map(requests), answers: [...this.#answers] }
  }

  #left(): BackendError {
    return new BackendError('BACKEND_LOST', this.#server, 'was told that nobody answers any more.')
  }

  #tooOld(): BackendError {
    const sentence = 'has gone on since this answer was asked for. Use the newest result of this call.'
    return new BackendError('CALL_LOST', this.#server, sentence)
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }

  async #ended(): Promise<Json> {
    try {
      return (await this.#outcome) ?? {}
    } catch (error) {
      throw this.#cancelled ?? error
    }
  }

  #ask(request: InputRequest): Promise<Json> {
    const answer = Promise.withResolvers<Json>()
    if (this.#cancelled !== undefined) return Promise.reject(this.#left())
    this.#open.set(`question-${++this.#asked}`, { request, digest: digestOf(request), answer })
    this.#wake()
    return answer.promise
  }

  /** The answers to questions that are open. Throws when one of them was given to another question. */
  #fitting({ questions, responses }: BroughtAnswers): (readonly [key: string, response: Json])[] {
    const fitting: (readonly [string, Json])[] = []
    for (const [key, response] of Object.entries(responses)) {
      const asked = Object.hasOwn(questions, key) ? questions[key] : undefined
      const question = this.#open.get(key)
      if (asked === undefined || question === undefined || !isObject(response)) continue
      if (asked !== question.digest)
        throw new ProtocolError('PARAMS_INVALID', `The answer "${key}" was given to another question.`)
      fitting.push([key, response])
    }
    return fitting
  }

  #answer(key: string, response: Json): void {
    const question = this.#open.get(key)
    if (question === undefined) return
    this.#open.delete(key)
    this.#answers.push([question.digest, response])
    question.answer.resolve(response)
  }
}
