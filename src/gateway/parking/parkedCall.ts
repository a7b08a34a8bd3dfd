/**
 * A call of a server of the session era that waits for an answer of a client of the stateless era. The server's call stays
 * open; the client gets its questions as a result, and its next round brings the answers.
 *
 * - Its generation counts the rounds that brought answers. Each of them gives one outcome, however often it is sent: a
 *   round that comes again, because its response was lost, gets that of the first.
 * - An answer reaches the question whose digest its ticket names, and no other.
 * - Where the server's call may begin anew, because the server or the process before has ended, the answers so far are
 *   given again to the questions with their digests, and only what is new is asked.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { backoffMs, isObject, type Json, ProtocolError } from '../../protocol/index.ts'
import { digestOf } from '../../state/internal.ts'
import { BackendError, isBackendGone } from '../errors.ts'

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

/** What a call goes on from that another process began. */
export interface TakenOver {
  /** The process that had it. */
  readonly from: string
  /** That of the ticket that it goes on from. */
  readonly generation: number
  readonly answers: TicketAnswers
}

export interface ParkedCallOptions {
  readonly server: string
  /** Whether the server's call, which ended so for the first time or once more, may begin anew. */
  readonly mayRepeat: (error: unknown, attempt: number) => boolean
  readonly takenOver?: TakenOver
}

interface ParkedQuestion {
  readonly request: InputRequest
  readonly digest: string
  /** Whether the server that asked is gone, and may ask again. */
  isOrphaned: boolean
  readonly answer: PromiseWithResolvers<Json>
}

/** Questions that a server asks at once come in one round. */
const GATHER_MS = 20
/** How many rounds a client may be behind. */
const KEPT_ROUNDS = 4
const MAX_REPEATS = 5
/** How many questions of a server may wait for their answers at once. */
const MAX_OPEN = 100
const REPEAT = { firstMs: 100, maxMs: 2000 }

export class ParkedCall {
  readonly id: string
  readonly #options: ParkedCallOptions
  readonly #open = new Map<string, ParkedQuestion>()
  readonly #answers: (readonly [question: string, response: Json])[] = []
  /** Answers that a server's call that began anew has yet to ask for. */
  readonly #given: (readonly [question: string, response: Json])[] = []
  /** By the generation whose answers began the round. */
  readonly #rounds = new Map<number, Promise<ParkedOutcome>>()
  readonly #cancels: (() => void)[] = []
  readonly #waiting: (() => void)[] = []
  #asked = 0
  #generation: number
  #cancelled: Error | undefined
  #outcome: Promise<Json> | undefined
  #hasEnded = false
  #channel: RoundChannel | undefined

  constructor(id: string, options: ParkedCallOptions) {
    const { generation = -1, answers = [] } = options.takenOver ?? {}
    this.id = id
    this.#options = options
    this.#generation = generation + 1
    this.#answers.push(...answers)
    this.#given.push(...answers)
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Whether the server ended in the middle, after it had asked. */
  isLost(error: unknown): boolean {
    const hasAsked = this.#asked > 0 || this.#answers.length > 0
    return this.#cancelled === undefined && hasAsked && isBackendGone(error)
  }

  /** The process that began it, where it was taken over. */
  get takenFrom(): string | undefined {
    return this.#options.takenOver?.from
  }

  get #isCancelled(): boolean {
    return this.#cancelled !== undefined
  }

  /** Sends the server's call on its way; gives the outcome of the first round. */
  begin(channel: RoundChannel, call: (way: ParkedWay) => Promise<Json>): Promise<ParkedOutcome> {
    this.#channel = channel
    const outcome = this.#run(call)
    this.#outcome = outcome
    const end = (): void => {
      this.#hasEnded = true
      this.#wake()
    }
    outcome.then(end, end)
    this.#startRound(this.#generation - 1)
    return this.#await(this.#generation - 1, channel)
  }

  /** Until the server's call ends otherwise than by the server's own end, where it may begin anew. */
  async #run(call: (way: ParkedWay) => Promise<Json>): Promise<Json> {
    for (let attempt = 1; ; attempt++) {
      let isOver = false
      try {
        return await call({
          notify: (method, params) => this.#channel?.notify(method, params),
          ask: (request) => (isOver ? Promise.reject(this.#left()) : this.#ask(request)),
          onCancel: (listener) => void this.#cancels.push(listener),
        })
      } catch (error) {
        const mayRepeat = attempt <= MAX_REPEATS && this.#options.mayRepeat(error, attempt)
        if (this.#isCancelled || !mayRepeat) throw error
        isOver = true
        await new Promise((resolve) => setTimeout(resolve, backoffMs(attempt, REPEAT)))
        if (this.#isCancelled) throw error // meanwhile
        this.#given.splice(0, Infinity, ...this.#answers)
        for (const question of this.#open.values()) question.isOrphaned = true
      }
    }
  }

  async whenEnded(): Promise<Json | undefined> {
    return this.#outcome?.catch(() => undefined)
  }

  /** One round: takes answers, and waits for the next questions or the end. */
  async round(channel: RoundChannel, brought: BroughtAnswers): Promise<ParkedOutcome> {
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
      // The call may wait for hours, and whoever was there for this round need not be kept meanwhile.
      if (this.#channel === channel) this.#channel = undefined
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
    return new BackendError('BACKEND_LOST', this.#options.server, 'was told that nobody answers any more.')
  }

  #askedTooMuch(): BackendError {
    const sentence = `waits for the answers to ${MAX_OPEN} questions of this call already. It may ask more when it has some.`
    return new BackendError('BACKEND_BUSY', this.#options.server, sentence)
  }

  #tooOld(): BackendError {
    const sentence = 'has gone on since this answer was asked for. Use the newest result of this call.'
    return new BackendError('CALL_LOST', this.#options.server, sentence)
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
    if (this.#cancelled !== undefined) return Promise.reject(this.#left())
    const digest = digestOf(request)
    const given = this.#given.findIndex(([question]) => question === digest)
    if (given >= 0) return Promise.resolve(this.#given.splice(given, 1)[0]?.[1] ?? {})
    const orphan = this.#orphanOf(digest)
    if (orphan === undefined && this.#open.size >= MAX_OPEN) return Promise.reject(this.#askedTooMuch())
    const question = orphan ?? this.#newQuestion(request, digest)
    question.isOrphaned = false
    this.#wake()
    return question.answer.promise
  }

  #orphanOf(digest: string): ParkedQuestion | undefined {
    for (const question of this.#open.values()) if (question.isOrphaned && question.digest === digest) return question
    return undefined
  }

  #newQuestion(request: InputRequest, digest: string): ParkedQuestion {
    const question = { request, digest, isOrphaned: false, answer: Promise.withResolvers<Json>() }
    question.answer.promise.catch(() => {}) // a server that is gone does not wait for it
    this.#open.set(`question-${++this.#asked}`, question)
    return question
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
    if (question.isOrphaned) this.#given.push([question.digest, response])
    question.answer.resolve(response)
  }
}
