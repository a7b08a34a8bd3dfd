/**
 * Calls of servers of the session era that wait for an answer of a client of the stateless era. The server's call stays
 * open; the client gets its questions as a result, and its next round brings the answers here.
 */
import { randomUUID } from 'node:crypto'
import type { InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json, unref } from '../../protocol/index.ts'
import { BackendError } from '../errors.ts'

/** What a round of a parked call ends with. */
export type ParkedOutcome =
  | { readonly kind: 'asked'; readonly requests: ReadonlyMap<string, InputRequest> }
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
  onCancel(listener: () => void): void
}

interface ParkedQuestion {
  readonly request: InputRequest
  readonly answer: PromiseWithResolvers<Json>
}

/** A result is kept so long for a client that did not get it and asks again. */
const KEPT_AFTER_END_MS = 60_000
/** Questions that a server asks at once come in one round. */
const GATHER_MS = 20

export class ParkedCall {
  readonly id = randomUUID()
  readonly #server: string
  readonly #open = new Map<string, ParkedQuestion>()
  readonly #cancels: (() => void)[] = []
  #asked = 0
  readonly #waiting: (() => void)[] = []
  #isCancelled = false
  #outcome: Promise<Json> | undefined
  #hasEnded = false
  #channel: RoundChannel | undefined

  constructor(server: string) {
    this.#server = server
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  run(call: (way: ParkedWay) => Promise<Json>): void {
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
  }

  async whenEnded(): Promise<void> {
    await this.#outcome?.catch(() => {})
  }

  /** One round: takes answers, and waits for the next questions or the end. */
  async round(channel: RoundChannel, responses: Json): Promise<ParkedOutcome> {
    this.#channel = channel
    let isOver = false
    channel.onCancel(() => {
      if (!isOver && this.#channel === channel) this.cancel()
    })
    for (const [key, response] of Object.entries(responses)) this.#answer(key, response)
    try {
      while (!this.#hasEnded && !this.#isCancelled && this.#open.size === 0)
        await new Promise<void>((resolve) => void this.#waiting.push(resolve))
      if (!this.#hasEnded) await new Promise((resolve) => setTimeout(resolve, GATHER_MS))
      if (this.#isCancelled && !this.#hasEnded) throw this.#left()
      if (this.#hasEnded || this.#outcome === undefined) return { kind: 'done', result: await this.#ended() }
      const requests = Array.from(this.#open, ([key, { request }]) => [key, request] as const)
      return { kind: 'asked', requests: new Map(requests) }
    } finally {
      isOver = true
    }
  }

  cancel(): void {
    this.#isCancelled = true
    for (const listener of this.#cancels) listener()
    for (const { answer } of this.#open.values()) answer.reject(this.#left())
    this.#open.clear()
    this.#wake()
  }

  #left(): BackendError {
    return new BackendError('BACKEND_LOST', this.#server, 'was told that nobody answers any more.')
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }

  async #ended(): Promise<Json> {
    return (await this.#outcome) ?? {}
  }

  #ask(request: InputRequest): Promise<Json> {
    const answer = Promise.withResolvers<Json>()
    if (this.#isCancelled) return Promise.reject(this.#left())
    this.#open.set(`question-${++this.#asked}`, { request, answer })
    this.#wake()
    return answer.promise
  }

  /** The first answer to a question counts. */
  #answer(key: string, response: unknown): void {
    const question = this.#open.get(key)
    if (question === undefined || !isObject(response)) return
    this.#open.delete(key)
    question.answer.resolve(response)
  }
}

export interface ParkingLimits {
  readonly maxCalls: number
  readonly maxOfCaller: number
}

const LIMITS: ParkingLimits = { maxCalls: 10_000, maxOfCaller: 100 }

/** The parked calls of this process. */
export class Parking {
  readonly #limits: ParkingLimits
  readonly #calls = new Map<string, { readonly call: ParkedCall; readonly caller: string }>()

  constructor(limits: ParkingLimits = LIMITS) {
    this.#limits = limits
  }

  get size(): number {
    return this.#calls.size
  }

  find(id: unknown): ParkedCall | undefined {
    return typeof id === 'string' ? this.#calls.get(id)?.call : undefined
  }

  /** Keeps a call that has asked, so that its next round finds it. */
  keep(call: ParkedCall, server: string, caller: string, parkMs: number): void {
    if (this.#calls.has(call.id)) return
    this.#assertRoom(server, caller)
    this.#calls.set(call.id, { call, caller })
    const late = unref(setTimeout(() => this.#expire(call), parkMs))
    void call.whenEnded().then(() => {
      clearTimeout(late)
      unref(setTimeout(() => this.#calls.delete(call.id), KEPT_AFTER_END_MS))
    })
  }

  /** Ends all calls: nobody can answer them any more. */
  close(): void {
    for (const { call } of this.#calls.values()) call.cancel()
    this.#calls.clear()
  }

  #expire(call: ParkedCall): void {
    call.cancel()
    this.#calls.delete(call.id)
  }

  #assertRoom(server: string, caller: string): void {
    const { maxCalls, maxOfCaller } = this.#limits
    let own = 0
    for (const each of this.#calls.values()) if (each.caller === caller && !each.call.hasEnded) own++
    if (own < maxOfCaller && this.#calls.size < maxCalls) return
    const sentence = 'has asked something, and too many calls wait for answers here already. Answer some of them first.'
    throw new BackendError('BACKEND_BUSY', server, sentence)
  }
}
