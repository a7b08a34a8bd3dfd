/**
 * The questions of one run.
 *
 * - An answer is found by its key. A pinned question accepts only an answer to exactly the same text; when its text has
 *   changed, it is asked again.
 * - A question is asked again when its answer is missing, has the wrong shape or does not fit its form, at most
 *   `maxAsks` times.
 * - An answer of the client is kept in the journal even when this round does not need it.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { answersInShape, isObject } from '../protocol/index.ts'
import { JournalError } from './errors.ts'
import { assertKey, type Journal, reused } from './journal.ts'
import { ignoreRejection, type RoundLifecycle } from './roundLifecycle.ts'

/** A question of a handler: the request to send, and how to read the response. */
export interface Question<T> {
  /** The input request as it is sent to the client. */
  readonly request: InputRequest
  /** Equal for equal requests: shows whether a question has changed since it was answered. */
  readonly fingerprint: string
  /** Whether an answer is valid only for exactly this request. If not, it is valid for any question with its key. */
  readonly pinned: boolean
  /** Reads a response that already has the right shape. */
  read(key: string, response: Readonly<Record<string, unknown>>): Reading<T> | Promise<Reading<T>>
}

/** The value that a response stands for, or that the response does not fit the question. */
export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false }

export interface AskOptions {
  /** The input responses that came with this round's request, by key. */
  readonly responses: Readonly<Record<string, unknown>>
  /** Sends a question over the live connection (session era). Absent: an unanswered ask ends the round. */
  readonly push?: ((key: string, request: InputRequest) => Promise<unknown>) | undefined
  /** Throws when the client did not declare the capability that the request needs. */
  readonly assertAskable: (request: InputRequest) => void
  /** How often one question is asked before the call fails with ASK_EXHAUSTED. */
  readonly maxAsks: number
}

interface AskedInRun {
  readonly fingerprint: string
  readonly answer: Promise<unknown>
}

export class Asks {
  readonly #journal: Journal
  readonly #lifecycle: RoundLifecycle
  readonly #options: AskOptions
  readonly #inRun = new Map<string, AskedInRun>()
  readonly #waiting = new Map<string, InputRequest>()

  /** How many answers this run added to the journal. */
  gained = 0

  constructor(journal: Journal, lifecycle: RoundLifecycle, options: AskOptions) {
    this.#journal = journal
    this.#lifecycle = lifecycle
    this.#options = options
    for (const [key, { question }] of journal.open) {
      const response = own(options.responses, key)
      if (response !== undefined) journal.answers.set(key, { question, response })
    }
  }

  /** The questions that end this round: the client must answer them before the next one. */
  get waiting(): ReadonlyMap<string, InputRequest> {
    return this.#waiting
  }

  ask<T>(key: string, question: Question<T>): Promise<T> {
    const earlier = this.#inRun.get(key)
    if (earlier !== undefined) return ignoreRejection(this.#askAgain(key, question, earlier))
    const answer = ignoreRejection(this.#answer(key, question))
    this.#inRun.set(key, { fingerprint: question.fingerprint, answer })
    return answer
  }

  /** Removes the open questions of earlier rounds that this round did not ask again. */
  dropUnasked(): void {
    const { open, answers } = this.#journal
    for (const key of open.keys()) {
      if (!this.#waiting.has(key) && !answers.has(key)) open.delete(key)
    }
  }

  /** The same question twice in one run has one answer. */
  async #askAgain<T>(key: string, question: Question<T>, earlier: AskedInRun): Promise<T> {
    this.#lifecycle.assertOpen(`The question "${key}"`)
    if (earlier.fingerprint !== question.fingerprint) throw reused('asks two different questions', key)
    return earlier.answer as Promise<T>
  }

  async #answer<T>(key: string, question: Question<T>): Promise<T> {
    this.#lifecycle.assertOpen(`The question "${key}"`)
    this.#lifecycle.assertOutsideSteps(`The question "${key}"`)
    assertKey(key)
    const response = this.#responseTo(key, question)
    if (response !== undefined) {
      const reading = await question.read(key, response)
      if (reading.ok) {
        this.#keep(key, question, response)
        return reading.value
      }
      this.#journal.answers.delete(key)
    }
    this.#options.assertAskable(question.request)
    return this.#options.push === undefined
      ? this.#askNextRound(key, question)
      : this.#askInPlace(key, question, this.#options.push)
  }

  #responseTo<T>(key: string, question: Question<T>): Readonly<Record<string, unknown>> | undefined {
    const { answers, open } = this.#journal
    const known = answers.get(key)
    if (known === undefined && question.pinned) return undefined
    if (known !== undefined && question.pinned && known.question !== question.fingerprint) {
      answers.delete(key)
      open.delete(key)
      return undefined
    }
    const response = known?.response ?? own(this.#options.responses, key)
    return answersInShape(question.request, response) ? response : undefined
  }

  #askNextRound<T>(key: string, question: Question<T>): Promise<T> {
    this.#lifecycle.assertOpen(`The question "${key}"`)
    const times = this.#timesAsked(key, question) + 1
    if (times > this.#options.maxAsks) throw exhausted(key, this.#options.maxAsks)
    this.#journal.open.set(key, { question: pin(question), times })
    this.#waiting.set(key, question.request)
    return this.#lifecycle.wait()
  }

  async #askInPlace<T>(key: string, question: Question<T>, push: NonNullable<AskOptions['push']>): Promise<T> {
    const { maxAsks } = this.#options
    for (let times = this.#timesAsked(key, question) + 1; times <= maxAsks; times++) {
      // The handler may have returned without awaiting this ask. Then nothing more may be sent to the client.
      this.#lifecycle.assertOpen(`The question "${key}"`)
      this.#journal.open.set(key, { question: pin(question), times })
      const response = await push(key, question.request)
      if (!answersInShape(question.request, response)) continue
      const reading = await question.read(key, response)
      if (!reading.ok) continue
      this.#keep(key, question, response)
      return reading.value
    }
    throw exhausted(key, maxAsks)
  }

  #timesAsked<T>(key: string, question: Question<T>): number {
    const before = this.#journal.open.get(key)
    if (before !== undefined && before.question === pin(question)) return before.times
    // A journal with only an unpinned question is not sent to the client (see isBlank); a response to the key shows
    // that the question was asked once.
    return !question.pinned && Object.hasOwn(this.#options.responses, key) ? 1 : 0
  }

  #keep<T>(key: string, question: Question<T>, response: Readonly<Record<string, unknown>>): void {
    const { answers, open } = this.#journal
    const isNew = open.delete(key) || !answers.has(key)
    if (isNew) this.gained++
    answers.set(key, { question: pin(question), response })
  }
}

function own(responses: Readonly<Record<string, unknown>>, key: string): Record<string, unknown> | undefined {
  const response = Object.hasOwn(responses, key) ? responses[key] : undefined
  return isObject(response) ? response : undefined
}

function pin(question: Question<unknown>): string | undefined {
  return question.pinned ? question.fingerprint : undefined
}

function exhausted(key: string, times: number): JournalError {
  return new JournalError('ASK_EXHAUSTED', `No usable answer to "${key}" came after it was asked ${times} times.`)
}
