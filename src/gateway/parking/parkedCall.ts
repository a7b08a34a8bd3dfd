/**
 * A parked call: a session-era server waits for the answer of a stateless client. The server's call stays open; the
 * client gets the questions as a result, and its next round brings the answers.
 *
 * - The generation counts the rounds that brought answers. Each generation has one outcome: a round that is repeated,
 *   because its response was lost, gets the outcome of the first.
 * - When the gateway that asks the client is gone, or the client's connection is, other calls of the client may ask its
 *   questions: a server does not always say which of its calls asks.
 * - A server's call that may run again is repeated after the server or the previous process has ended. The answers so
 *   far are replayed to the questions with their digests, and only new questions are asked.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { backoffMs, type Json } from '../../protocol/index.ts'
import { BackendError, isBackendGone } from '../errors.ts'
import { Waiters } from '../waiting.ts'
import type { Presence } from '../links/relayed.ts'
import { type BroughtAnswers, ParkedQuestions, type TicketAnswers } from './parkedQuestions.ts'

/** The outcome of a round. `generation` is that of the ticket for the next one. */
export type ParkedOutcome =
  | {
      readonly kind: 'asked'
      readonly generation: number
      readonly requests: ReadonlyMap<string, InputRequest>
      readonly answers: TicketAnswers
    }
  | { readonly kind: 'done'; readonly result: Json }

/** The channel to the client of one round. */
export interface RoundChannel {
  notify(method: string, params: Json): void
  onCancel(listener: () => void): void
  /**
   * Calls the listener when the gateway that asks the client is gone. Returns the function that removes it. @default
   * this gateway asks the client
   */
  onLost?: ((listener: () => void) => () => void) | undefined
}

/** The callbacks that the server's call gets. */
export interface ParkedWay {
  notify(method: string, params: Json): void
  ask(request: InputRequest): Promise<Json>
  presence(): Presence
  onCancel(listener: () => void): void
}

/** The state from which this process resumes a call of another process. */
export interface ClaimedCall {
  /** The previous owner. */
  readonly from: string
  /** The generation of the ticket that it resumes from. */
  readonly generation: number
  readonly answers: TicketAnswers
}

export interface ParkedCallOptions {
  readonly server: string
  /** Whether the server's call may run again after this attempt failed with this error. */
  readonly mayRepeat: (error: unknown, attempt: number) => boolean
  /** Called when it runs again. */
  readonly onRepeat?: () => void
  readonly claimed?: ClaimedCall
}

const NO_ANSWER =
  'got no answer to its question, so its call was cancelled. What the call did until then may have happened.'
/** Questions that a server asks within this time are put into one round. */
const GATHER_MS = 20
/** Number of rounds whose outcomes are kept for clients that repeat one. */
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
  readonly #waiting = new Waiters()
  #generation: number
  #cancelled: Error | undefined
  #outcome: Promise<Json> | undefined
  #hasEnded = false
  #hasRepeated = false
  #channel: RoundChannel | undefined
  /** Whether the gateway that asked the client, or the client's connection, is gone. */
  #isDeserted = false
  #stopWatching: (() => void) | undefined

  constructor(id: string, options: ParkedCallOptions) {
    const { generation = -1, answers = [] } = options.claimed ?? {}
    this.id = id
    this.#options = options
    this.#generation = generation + 1
    this.#questions = new ParkedQuestions(options.server, answers)
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Whether the server ended in the middle of the call, after it had asked. */
  isLost(error: unknown): boolean {
    return this.#cancelled === undefined && this.#questions.hasAsked && isBackendGone(error)
  }

  /** Whether an attempt was lost and the call ran again. */
  get hasRepeated(): boolean {
    return this.#hasRepeated
  }

  /** The process that the call was claimed from, if any. */
  get claimedFrom(): string | undefined {
    return this.#options.claimed?.from
  }

  get #isCancelled(): boolean {
    return this.#cancelled !== undefined
  }

  /** Sends the server's call; returns the outcome of the first round. */
  begin(channel: RoundChannel, call: (way: ParkedWay) => Promise<Json>): Promise<ParkedOutcome> {
    this.#attend(channel)
    const outcome = this.#run(call)
    this.#outcome = outcome
    const end = (): void => {
      this.#hasEnded = true
      this.#cancels.length = 0 // a finished call is kept for a while, and must not hold the connection to its server
      this.#stopWatching?.()
      if (this.#questions.size > 0) this.#questions.giveBack(this.#noAnswer())
      this.#waiting.wakeAll()
    }
    outcome.then(end, end)
    this.#startRound(this.#generation - 1)
    return this.#await(this.#generation - 1, channel)
  }

  /** Runs the server's call, with retries and backoff if the server ends and the call may run again. */
  async #run(call: (way: ParkedWay) => Promise<Json>): Promise<Json> {
    for (let attempt = 1; ; attempt++) {
      let isOver = false
      try {
        return await call({
          notify: (method, params) => this.#channel?.notify(method, params),
          ask: (request) => (isOver ? Promise.reject(this.#noAnswer()) : this.#ask(request)),
          presence: () => (this.#channel !== undefined ? 'here' : this.#isDeserted ? 'gone' : 'asked'),
          onCancel: (listener) => this.#onCancel(listener),
        })
      } catch (error) {
        const mayRepeat = attempt <= MAX_REPEATS && this.#options.mayRepeat(error, attempt)
        if (this.#isCancelled || !mayRepeat) throw error
        isOver = true
        await new Promise((resolve) => setTimeout(resolve, backoffMs(attempt, REPEAT)))
        if (this.#isCancelled) throw error // cancelled during the backoff
        this.#hasRepeated = true
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
    this.#attend(channel)
    for (const [key, response] of answers) this.#questions.answer(key, response)
    this.#startRound(generation)
    return this.#await(generation, channel)
  }

  /** Releases the questions to other calls, because the client that was asked may be gone. */
  release(): void {
    if (this.#channel !== undefined) return // the client has come back
    this.#isDeserted = true
    this.#questions.release()
  }

  /** Cancels the call at its server; waiting rounds get the error. `unanswered`: the answer to the server's questions. */
  cancel(why: Error = this.#noAnswer(), unanswered: Error = this.#noAnswer()): void {
    if (this.#cancelled !== undefined) return
    this.#cancelled = why
    for (const listener of this.#cancels) listener()
    this.#questions.close(unanswered)
    this.#waiting.wakeAll()
  }

  #startRound(generation: number): void {
    const outcome = this.#next(generation + 1)
    outcome.catch(() => {}) // perhaps no round awaits it
    this.#rounds.set(generation, outcome)
    this.#rounds.delete(generation - KEPT_ROUNDS)
  }

  /** Connects the newest round: its client gets progress, and cancels the call when it disconnects. */
  async #await(generation: number, channel: RoundChannel): Promise<ParkedOutcome> {
    const outcome = this.#rounds.get(generation)
    if (outcome === undefined) throw this.#tooOld()
    if (generation === this.#generation - 1) this.#attend(channel)
    let isOver = false
    channel.onCancel(() => {
      if (!isOver && this.#channel === channel) this.cancel()
    })
    try {
      return await outcome
    } finally {
      isOver = true
      // The call may wait for hours, so the channel of this round is released.
      if (this.#channel === channel) this.#leave(channel)
    }
  }

  #attend(channel: RoundChannel): void {
    this.#channel = channel
    this.#isDeserted = false
    this.#stopWatching?.()
  }

  #leave({ onLost }: RoundChannel): void {
    this.#channel = undefined
    if (!this.#hasEnded) this.#stopWatching = onLost?.(() => this.release())
  }

  async #next(generation: number): Promise<ParkedOutcome> {
    while (!this.#hasEnded && this.#cancelled === undefined && this.#questions.size === 0) await this.#waiting.wait()
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
    this.#waiting.wakeAll()
    return answer
  }
}
