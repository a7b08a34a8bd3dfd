/**
 * The open request for the result of a task of a session-era server, and the server's questions on it.
 *
 * - A question goes to every client that follows or reads the task; the first answer counts.
 * - The request ends with the task, after `maxMs`, or when the last follower has disconnected and no client has read
 *   the task.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json, questionOfTask, sleep, unref } from '../../../protocol/index.ts'
import type { Call } from '../../../server/internal.ts'
import type { Relayed } from '../../links/relayed.ts'
import { askerOf } from '../relayedCall.ts'
import { relatedTo } from './forms.ts'

interface TaskQuestion {
  readonly request: InputRequest
  readonly answer: (response: Json) => void
  readonly refuse: (error: unknown) => void
}

/** A session-era client that waits for the result. */
interface Follower {
  readonly call: Call
  readonly ask: NonNullable<Relayed['ask']> | undefined
  /** The id that the client knows. */
  readonly exposed: string
}

/** The channel from the server back to the followers. */
type ResultWay = Pick<Relayed, 'ask' | 'notify' | 'onCancel' | 'isDelivered'>

/** Wait for questions: a server sends them as soon as the result is requested. */
const QUESTIONS_MS = 1000

export class OpenResult {
  /** Resolves when the server has answered, or no client waits any more. */
  readonly ended: Promise<void>
  readonly #result: Promise<Json>
  readonly #questions = new Map<string, TaskQuestion>()
  readonly #followers = new Set<Follower>()
  readonly #cancels: (() => void)[] = []
  readonly #first = Promise.withResolvers<void>()
  #asked = 0
  #isRead = false

  constructor(maxMs: number, send: (way: ResultWay) => Promise<Json>) {
    const late = unref(setTimeout(() => this.#cancel(), maxMs))
    this.#result = send({
      ask: (request) => this.#ask(request),
      notify: (method, params) => {
        for (const { call } of this.#followers) call.channel.notify(method, params)
      },
      onCancel: (listener) => void this.#cancels.push(listener),
      isDelivered: () => this.#followers.size > 0,
    })
    this.ended = this.#result.then(
      () => clearTimeout(late),
      () => clearTimeout(late),
    )
  }

  /** The open questions, for clients that read the task. */
  async questions(): Promise<ReadonlyMap<string, InputRequest>> {
    this.#isRead = true
    const over = new AbortController()
    await Promise.race([this.#first.promise, this.ended, sleep(QUESTIONS_MS, over.signal).catch(() => {})])
    over.abort()
    return new Map(Array.from(this.#questions, ([key, { request }]) => [key, request]))
  }

  /** Waits for the result, and asks the client the server's questions. */
  async follow(call: Call, exposed: string): Promise<Json> {
    const follower: Follower = { call, ask: askerOf(call), exposed }
    const left = Promise.withResolvers<never>()
    call.channel.onCancel(() => left.reject(new Error('The client has left.')))
    this.#followers.add(follower)
    for (const [key, question] of this.#questions) this.#pass(follower, key, question)
    try {
      return await Promise.race([this.#result, left.promise])
    } finally {
      this.#followers.delete(follower)
      if (this.#followers.size === 0 && !this.#isRead) this.#cancel()
    }
  }

  /** The first answer to a question counts. */
  answer(responses: Json): void {
    for (const [key, response] of Object.entries(responses)) {
      const question = this.#questions.get(key)
      if (question === undefined || !isObject(response)) continue
      this.#questions.delete(key)
      question.answer(response)
    }
  }

  #ask(request: InputRequest): Promise<Json> {
    const { promise, resolve, reject } = Promise.withResolvers<Json>()
    const params = relatedTo(request.params ?? {}, undefined)
    const question = { request: { ...request, params } as InputRequest, answer: resolve, refuse: reject }
    const key = `question-${++this.#asked}`
    this.#questions.set(key, question)
    this.#first.resolve()
    for (const follower of this.#followers) this.#pass(follower, key, question)
    return promise
  }

  /**
   * Asks one follower. A client that has disconnected, or cannot be asked on its connection, leaves the question to
   * others.
   */
  #pass({ call, ask, exposed }: Follower, key: string, { request, refuse }: TaskQuestion): void {
    ask?.(questionOfTask(request, exposed)).then(
      (response) => this.answer({ [key]: response }),
      (error: unknown) => {
        if (!call.channel.cancelled && this.#questions.delete(key)) refuse(error)
      },
    )
  }

  #cancel(): void {
    for (const cancel of this.#cancels) cancel()
  }
}
