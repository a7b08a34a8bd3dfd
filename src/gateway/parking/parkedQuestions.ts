/**
 * What the server of a parked call has asked, and what it was answered.
 *
 * - An answer reaches the question whose digest its ticket names, and no other.
 * - A server's call that begins anew asks again. What was answered before is answered at once, and a question that still waits
 *   is the same one.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json, ProtocolError } from '../../protocol/index.ts'
import { digestOf } from '../../state/internal.ts'
import { BackendError } from '../errors.ts'

/** The answers so far, each with the digest of its question. */
export type TicketAnswers = readonly (readonly [question: string, response: Json])[]

/** What a client brings back. */
export interface BroughtAnswers {
  readonly generation: number
  /** The digests of the questions that the client was asked, by their keys. */
  readonly questions: Readonly<Record<string, string>>
  readonly responses: Json
}

interface ParkedQuestion {
  readonly request: InputRequest
  readonly digest: string
  /** Whether the server that asked is gone, and may ask again. */
  isOrphaned: boolean
  readonly answer: PromiseWithResolvers<Json>
}

/** How many questions of a server may wait for their answers at once. */
const MAX_OPEN = 100

export class ParkedQuestions {
  readonly #server: string
  readonly #open = new Map<string, ParkedQuestion>()
  readonly #answers: (readonly [question: string, response: Json])[]
  /** Answers that a server's call that began anew has yet to ask for. */
  #toReplay: (readonly [question: string, response: Json])[]
  #asked = 0

  constructor(server: string, answers: TicketAnswers) {
    this.#server = server
    this.#answers = [...answers]
    this.#toReplay = [...answers]
  }

  /** How many wait for their answers. */
  get size(): number {
    return this.#open.size
  }

  get answers(): TicketAnswers {
    return [...this.#answers]
  }

  get requests(): ReadonlyMap<string, InputRequest> {
    return new Map(Array.from(this.#open, ([key, { request }]) => [key, request] as const))
  }

  /** Whether the server has asked anything yet. */
  get hasAsked(): boolean {
    return this.#asked > 0 || this.#answers.length > 0
  }

  ask(request: InputRequest): Promise<Json> {
    const digest = digestOf(request)
    const given = this.#toReplay.findIndex(([question]) => question === digest)
    if (given >= 0) return Promise.resolve(this.#toReplay.splice(given, 1)[0]?.[1] ?? {})
    const orphan = this.#orphanOf(digest)
    if (orphan === undefined && this.#open.size >= MAX_OPEN) return Promise.reject(this.#askedTooMuch())
    const question = orphan ?? this.#newQuestion(request, digest)
    question.isOrphaned = false
    return question.answer.promise
  }

  /** The answers to questions that are open. Throws when one of them was given to another question. */
  fitting({ questions, responses }: BroughtAnswers): readonly (readonly [key: string, response: Json])[] {
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

  answer(key: string, response: Json): void {
    const question = this.#open.get(key)
    if (question === undefined) return
    this.#open.delete(key)
    this.#answers.push([question.digest, response])
    if (question.isOrphaned) this.#toReplay.push([question.digest, response])
    question.answer.resolve(response)
  }

  /** The server's call begins anew. */
  restart(): void {
    this.#toReplay = [...this.#answers]
    for (const question of this.#open.values()) question.isOrphaned = true
  }

  /** The call has ended: what is still open was asked by another call of its client, and is asked there instead. */
  giveBack(error: Error): void {
    for (const { answer } of this.#open.values()) answer.reject(error)
  }

  /** Nobody answers any more. */
  close(error: Error): void {
    this.giveBack(error)
    this.#open.clear()
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

  #askedTooMuch(): BackendError {
    const sentence = `waits for the answers to ${MAX_OPEN} questions of this call already. It may ask more when it has some.`
    return new BackendError('BACKEND_BUSY', this.#server, sentence)
  }
}
