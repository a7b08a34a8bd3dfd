/**
 * A call of a server of the session era that waits for an answer of a client of the stateless era. The server's call stays
 * open; the client gets its questions as a result, and its next round brings the answers.
 *
 * - Its generation counts the rounds that brought answers. Each of them gives one outcome, however often it is sent: a
 *   round that comes again, because its response was lost, gets that of the first.
 * - Where the server's call may begin anew, because the server or the process before has ended, the answers so far are
 *   given again to the questions with their digests, and only what is new is asked.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { backoffMs, type Json } from '../../protocol/index.ts'
import { BackendError, isBackendGone } from '../errors.ts'
import { type BroughtAnswers, ParkedQuestions, type TicketAnswers } from './parkedQuestions.ts'

/** What a round of a parked call ends with. `generation` is that of the ticket for the next one. */
export type ParkedOutcome =
  | {
      readonly kind: 'asked'
      readonly generation: number
      readonly requests: ReadonlyMap<string, InputRequest>
      readonly answers: TicketAnswers
    }
  | { readonly kind: 'done'; readonly result: Json }

/** The way back to the client, which is another one in each round. */
export interface RoundChannel {
  notify(method: string, params: Json): void
  onCancel(listener: () => void): void
}

/** What the call of a server is given. */
export interface ParkedWay {
  notify(method: string, params: Json): void
  ask(request: InputRequest): Promise<Json>
  /** Whether a round of its client is under way. */
  isAttended(): boolean
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
  /** It begins anew. */
  readonly onRepeat?: () => void
  readonly takenOver?: TakenOver
}

const NO_ANSWER = 'was told that nobody answers any more. What the call did until then may have happened.'
/** Questions that a server asks at once come in one round. */
const GATHER_MS = 20
/** How many rounds a client may be behind. */
const KEPT_ROUNDS = 4
const MAX_REPEATS = 5
const REPEAT = { firstMs: 100, maxMs: 2000 }

export class ParkedCall {
  readonly id: string
  readonly #options: ParkedCallOptions
  readonly #questions: ParkedQuestions
  /** By the generation whose answers began the round. */
  readonly #rounds = new Map<number, Promise<ParkedOutcome>>()
  readonly #cancels: (() => void)[] = []
  readonly #waiting: (() => void)[] = []
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
    this.#questions = new ParkedQuestions(options.server, answers)
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Whether the server ended in the middle, after it had asked. */
  isLost(error: unknown): boolean {
    return this.#cancelled === undefined && this.#questions.hasAsked && isBackendGone(error)
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
      this.#questions.giveBack(this.#noAnswer())
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
          ask: (request) => (isOver ? Promise.reject(this.#noAnswer()) : this.#ask(request)),
          isAttended: () => this.#channel !== undefined,
          onCancel: (listener) => this.#onCancel(listener),
        })
      } catch (error) {
        const mayRepeat = attempt <= MAX_REPEATS && this.#options.mayRepeat(error, attempt)
        if (this.#isCancelled || !mayRepeat) throw error
        isOver = true
        await new Promise((resolve) => setTimeout(resolve, backoffMs(attempt, REPEAT)))
        if (this.#isCancelled) throw error // meanwhile
        this.#options.onRepeat?.()
        this.#questions.restart()
      }
    }
  }

  #onCancel(listener: () => void): void {
    if (this.#isCancelled) return listener()
    this.#cancels.push(listener)
  }

  async whenEnded(): Promise<Json | undefined> {
    return this.#outcome?.catch(() => undefined)
  }

  /** One round: takes answers, and waits for the next questions or the end. */
  async round(channel: RoundChannel, brought: BroughtAnswers): Promise<ParkedOutcome> {
    const { generation } = brought
    if (generation < this.#generation) return this.#await(generation, channel)
    const answers = this.#questions.fitting(brought)
    if (answers.length === 0) return this.#await(this.#generation - 1, channel)
    this.#generation++
    this.#channel = channel
    for (const [key, response] of answers) this.#questions.answer(key, response)
    this.#startRound(generation)
    return this.#await(generation, channel)
  }

  /** Tells the server that nobody answers any more, and whoever waits for it why. */
  cancel(why: Error = this.#noAnswer()): void {
    if (this.#cancelled !== undefined) return
    this.#cancelled = why
    for (const listener of this.#cancels) listener()
    this.#questions.close(this.#noAnswer())
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
    while (!this.#hasEnded && this.#cancelled === undefined && this.#questions.size === 0)
      await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    if (!this.#hasEnded) await new Promise((resolve) => setTimeout(resolve, GATHER_MS))
    if (this.#cancelled !== undefined && !this.#hasEnded) throw this.#cancelled
    if (this.#hasEnded || this.#outcome === undefined) return { kind: 'done', result: await this.#ended() }
    const { requests, answers } = this.#questions
    return { kind: 'asked', generation, requests, answers }
  }

  #noAnswer(): BackendError {
    return new BackendError('BACKEND_LOST', this.#options.server, NO_ANSWER)
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
    if (this.#isCancelled) return Promise.reject(this.#noAnswer())
    const answer = this.#questions.ask(request)
    this.#wake()
    return answer
  }
}
