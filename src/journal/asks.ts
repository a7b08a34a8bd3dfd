/**
 * The questions of one run.
 *
 * - An answer is found by key. A pinned question takes only an answer that was given to exactly its text: what changed
 *   since it was asked is asked again.
 * - An answer that is missing, misshapen or fails its form is asked for again, a bounded number of times.
 * - What the client answered is kept even when this round does not come to need it.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { answersInShape, isObject } from '../protocol/index.ts'
import { JournalError } from './errors.ts'
import { assertKey, type Journal, reused } from './journal.ts'
import { ignoreRejection, type RoundLifecycle } from './roundLifecycle.ts'

export interface AskOptions {
  /** The answers this round brought, by key. */
  readonly responses: Readonly<Record<string, unknown>>
  /** Answers in place over a live connection (the session era). Absent: an unanswered ask ends the round. */
  readonly push?: ((key: string, request: InputRequest) => Promise<unknown>) | undefined
  /** Throws when the client did not declare what the request needs. */
  readonly assertAskable: (request: InputRequest) => void
  /** How often one question is asked before the call gives up. */
  readonly maxAsks: number
}

interface AskedInRun {
  readonly fingerprint: string
  readonly answer: Promise<unknown>
}

export class Asks {
  readonly #journal: Journal
  readonly #round: RoundLifecycle
  readonly #options: AskOptions
  readonly #inRun = new Map<string, AskedInRun>()
  readonly #waiting = new Map<string, InputRequest>()

  /** How many answers this run added to the journal. */
  gained = 0

  constructor(journal: Journal, round: RoundLifecycle, options: AskOptions) {
    this.#journal = journal
    this.#round = round
    this.#options = options
    for (const [key, { question }] of journal.open) {
      const response = own(options.responses, key)
      if (response !== undefined) journal.answers.set(key, { question, response })
    }
  }

  /** What the client must answer before the next round. */
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

  /** Questions of earlier rounds that nobody asked again need not be remembered. */
  forgetUnasked(): void {
    const { open, answers } = this.#journal
    for (const key of open.keys()) {
      if (!this.#waiting.has(key) && !answers.has(key)) open.delete(key)
    }
  }

  /** The same question twice in one run has one answer. */
  async #askAgain<T>(key: string, question: Question<T>, earlier: AskedInRun): Promise<T> {
    this.#round.assertOpen(`The question "${key}"`)
    if (earlier.fingerprint !== question.fingerprint) throw reused('asks two different questions', key)
    return earlier.answer as Promise<T>
  }

  async #answer<T>(key: string, question: Question<T>): Promise<T> {
    this.#round.assertOpen(`The question "${key}"`)
    this.#round.assertOutsideSteps(`The question "${key}"`)
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
    this.#round.assertOpen(`The question "${key}"`)
    const times = this.#timesAsked(key, question) + 1
    if (times > this.#options.maxAsks) throw exhausted(key, this.#options.maxAsks)
    this.#journal.open.set(key, { question: pin(question), times })
    this.#waiting.set(key, question.request)
    return this.#round.wait()
  }

  async #askInPlace<T>(key: string, question: Question<T>, push: NonNullable<AskOptions['push']>): Promise<T> {
    const { maxAsks } = this.#options
    for (let times = this.#timesAsked(key, question) + 1; times <= maxAsks; times++) {
      // The handler may have returned without waiting for this; what it leaves behind must not ask on its own.
      this.#round.assertOpen(`The question "${key}"`)
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
    // An unpinned question leaves no trace in its first round; that it is answered shows that it was asked.
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

/** What a handler asks, ready to be sent, and how its answer is read. */
export interface Question<T> {
  /** As it goes over the wire. */
  readonly request: InputRequest
  /** Same text, same fingerprint: tells a changed question from the one that was answered. */
  readonly fingerprint: string
  /** An answer counts only for exactly this question. Unpinned, it counts for whatever stands under the key. */
  readonly pinned: boolean
  /** Reads a response that already has the right shape. */
  read(key: string, response: Readonly<Record<string, unknown>>): Reading<T> | Promise<Reading<T>>
}

export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false }
