/**
 * The questions of a parked call's server, and their answers.
 *
 * - An answer reaches only the question whose digest its ticket names.
 * - A server's call that runs again asks again. Earlier answers are replayed at once, and a question that is still open
 *   is matched by its digest.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json, ProtocolError } from '../../protocol/index.ts'
import { digestOf } from '../../state/internal.ts'
import { BackendError } from '../errors.ts'
import { AskAgain } from '../links/relayed.ts'

/** The answers so far, each with the digest of its question. */
export type TicketAnswers = readonly (readonly [question: string, response: Json])[]

/** The answers of a client's round. */
export interface BroughtAnswers {
  readonly generation: number
  /** The digests of the questions that the client was asked, by key. */
  readonly questions: Readonly<Record<string, string>>
  readonly responses: Json
}

interface ParkedQuestion {
  readonly request: InputRequest
  readonly digest: string
  /** Whether the question may be asked again, because the server has restarted or another call may ask it. */
  isOrphaned: boolean
  answer: PromiseWithResolvers<Json>
}

/** Maximum number of open questions of a server. */
const MAX_OPEN = 100

export class ParkedQuestions {
  readonly #server: string
  readonly #open = new Map<string, ParkedQuestion>()
  readonly #answers: (readonly [question: string, response: Json])[]
  /** Answers that a repeated call has not asked for yet. */
  #toReplay: (readonly [question: string, response: Json])[]
  #asked = 0

  constructor(server: string, answers: TicketAnswers) {
    this.#server = server
    this.#answers = [...answers]
    this.#toReplay = [...answers]
  }

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

  /** The answers to open questions. Throws if an answer belongs to another question. */
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

  /** Prepares for another run of the server's call. */
  restart(): void {
    this.#toReplay = [...this.#answers]
    for (const question of this.#open.values()) question.isOrphaned = true
  }

  /**
   * Releases the open questions to other calls, because the asked client may be gone. If it comes back, its answers are
   * accepted for questions that are asked here again.
   */
  release(): void {
    for (const question of this.#open.values()) {
      const { reject } = question.answer
      question.answer = newAnswer()
      question.isOrphaned = true
      reject(new AskAgain())
    }
  }

  /**
   * Rejects the open questions of a finished call. They belong to another call of the same client, which then asks them.
   */
  giveBack(error: Error): void {
    for (const { answer } of this.#open.values()) answer.reject(error)
  }

  /** Rejects and drops the open questions: no answer will come. */
  close(error: Error): void {
    this.giveBack(error)
    this.#open.clear()
  }

  #orphanOf(digest: string): ParkedQuestion | undefined {
    for (const question of this.#open.values()) if (question.isOrphaned && question.digest === digest) return question
    return undefined
  }

  #newQuestion(request: InputRequest, digest: string): ParkedQuestion {
    const question = { request, digest, isOrphaned: false, answer: newAnswer() }
    this.#open.set(`question-${++this.#asked}`, question)
    return question
  }

  #askedTooMuch(): BackendError {
    const sentence = `waits for the answers to ${MAX_OPEN} questions of this call already. It may ask more when it has some.`
    return new BackendError('BACKEND_BUSY', this.#server, sentence)
  }
}

function newAnswer(): PromiseWithResolvers<Json> {
  const answer = Promise.withResolvers<Json>()
  answer.promise.catch(() => {}) // the server may be gone
  return answer
}
