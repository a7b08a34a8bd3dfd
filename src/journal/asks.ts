/**
 * The questions of one run.
 *
 * - An answer is found by its key. A pinned question accepts only an answer to exactly the same text; when its text has
 *   changed, it is asked again.
 * - A question is asked again when its answer is missing, has the wrong shape or does not fit its form, at most
 *   `maxAsks` times. A question whose text changed counts as the same question. So does a question that replaces all
 *   questions of the last round, because repeatable handlers ask those again.
 * - An answer of the client is kept in the journal even when this round does not need it.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { answersInShape, isObject } from '../protocol/index.ts'
import {
  type ApprovalOptions,
  approvingCaller,
  assertForCaller,
  dropUnvouched,
  type Question,
  type Reading,
} from './question.ts'
import { JournalError } from './errors.ts'
import { type AnsweredBy, assertKey, type Journal, reused } from './journal.ts'
import { ignoreRejection, type RoundLifecycle } from './roundLifecycle.ts'

/** The default of `maxAsks`. */
export const MAX_ASKS = 5

export interface AskOptions extends ApprovalOptions {
  /** The input responses that came with this round's request, by key. */
  readonly responses: Readonly<Record<string, unknown>>
  /** Sends a question over the live connection (session era). Absent: an unanswered ask ends the round. */
  readonly push?: ((key: string, request: InputRequest) => Promise<unknown>) | undefined
  /** Throws when the client did not declare the capability that the request needs. */
  readonly assertAskable: (request: InputRequest) => void
  /** Whether the call can wait elsewhere for an answer to this request, which its client cannot give. @default no request */
  readonly waitsFor?: ((request: InputRequest) => boolean) | undefined
  /** How often one question is asked before the call fails with ASK_EXHAUSTED. */
  readonly maxAsks: number
  /** Called when a response did not fit its question. */
  readonly onRefused: (key: string) => void
  /** Called when the text or the key of a question has changed twice since it was asked. */
  readonly onChanging: (key: string) => void
}

interface AskedInRun {
  readonly fingerprint: string
  readonly answer: Promise<unknown>
}

/** A question that is about to be sent. */
interface NextQuestion<T> {
  readonly key: string
  readonly question: Question<T>
  /** The text that is sent: the question, and the fault of its last answer if there was one. */
  readonly request: InputRequest
  readonly changes: number
  /** Whether it is asked because its last answer did not fit. */
  readonly isRefused: boolean
}

export class Asks {
  readonly #journal: Journal
  readonly #lifecycle: RoundLifecycle
  readonly #options: AskOptions
  readonly #inRun = new Map<string, AskedInRun>()
  readonly #waiting = new Map<string, InputRequest>()
  readonly #waitElsewhere: () => Promise<void>
  /** How often the questions that were open when this run began had changed, by key. */
  #openBefore: Map<string, number> | undefined

  /** How many answers this run added to the journal. */
  gained = 0

  /**
   * `waitElsewhere` ends the round, so that the call waits for an answer elsewhere; it resolves if that is not
   * possible.
   */
  constructor(journal: Journal, lifecycle: RoundLifecycle, options: AskOptions, waitElsewhere: () => Promise<void>) {
    this.#waitElsewhere = waitElsewhere
    this.#journal = journal
    this.#lifecycle = lifecycle
    this.#options = options
    for (const [key, { question, changes = 0, earlier = 0 }] of journal.open) {
      this.#openBefore ??= new Map()
      this.#openBefore.set(key, Math.max(changes, earlier))
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

  /**
   * The round ends: removes the open questions of earlier rounds that it did not ask again. Gives the error of a call that
   * asks something else in every round.
   */
  endRound(): JournalError | undefined {
    const { open, answers } = this.#journal
    for (const key of open.keys()) {
      if (!this.#waiting.has(key) && !answers.has(key)) open.delete(key)
    }
    return this.#keyChanges()
  }

  /** A question that replaces all questions of the last round is one of them under another key. */
  #keyChanges(): JournalError | undefined {
    const before = [...(this.#openBefore ?? [])]
    if (before.length === 0 || before.some(([key]) => this.#inRun.has(key))) return undefined
    const changes = 1 + Math.max(...before.map(([, count]) => count))
    for (const key of this.#waiting.keys()) {
      const asked = this.#journal.open.get(key)
      if (asked !== undefined) this.#journal.open.set(key, { ...asked, changes })
      if (changes === 2) this.#options.onChanging(key)
      if (changes >= this.#options.maxAsks) return changing(key, this.#options.maxAsks)
    }
    return undefined
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
    const caller = approvingCaller(key, question, this.#options)
    if (caller === undefined) dropUnvouched(key, question, this.#journal)
    const { response, changes } = this.#responseTo(key, question)
    let { request } = question
    if (response !== undefined) {
      const reading = await this.#read(key, question, response)
      if (reading.ok) {
        this.#keep(key, question, response as Readonly<Record<string, unknown>>, caller)
        return reading.value
      }
      this.#journal.answers.delete(key)
      request = requestAfter(question, reading)
    }
    if (this.#options.asksOthers !== true)
      await assertForCaller(key, question, caller, this.#waitElsewhere, this.#options)
    if (this.#options.waitsFor?.(request) === true) await this.#waitElsewhere()
    this.#options.assertAskable(request)
    const asking = { key, question, request, changes, isRefused: response !== undefined }
    return this.#options.push === undefined ? this.#askNextRound(asking) : this.#askInPlace(asking, this.#options.push)
  }

  async #read<T>(key: string, question: Question<T>, response: unknown): Promise<Reading<T>> {
    const reading = answersInShape(question.request, response) ? await question.read(key, response) : MISSHAPEN
    if (!reading.ok) this.#options.onRefused(key)
    return reading
  }

  /** The response to this question, if one is here, and how often the question's text has changed. */
  #responseTo<T>(key: string, question: Question<T>): { response?: unknown; changes: number } {
    const { answers, open } = this.#journal
    const known = answers.get(key)
    const changes = open.get(key)?.changes ?? 0
    if (known === undefined && question.pinned) return { changes }
    if (known !== undefined && question.pinned && known.question !== question.fingerprint) {
      answers.delete(key)
      if (changes === 1) this.#options.onChanging(key)
      return { changes: changes + 1 }
    }
    return { response: known?.response ?? own(this.#options.responses, key), changes }
  }

  #askNextRound<T>({ key, question, request, changes }: NextQuestion<T>): Promise<T> {
    this.#lifecycle.assertOpen(`The question "${key}"`)
    const times = this.#timesAsked(key, question) + 1
    if (times + changes > this.#options.maxAsks) throw exhausted(key, this.#options.maxAsks, changes)
    this.#journal.open.set(key, { question: pin(question), times, changes, approvers: question.approvers })
    this.#waiting.set(key, request)
    return this.#lifecycle.wait()
  }

  async #askInPlace<T>(asking: NextQuestion<T>, push: NonNullable<AskOptions['push']>): Promise<T> {
    const { key, question, changes, isRefused } = asking
    const { maxAsks } = this.#options
    let { request } = asking
    // A question that another instance asked and handed off unanswered is the same one here, and counts once.
    const asked = this.#timesAsked(key, question)
    for (let times = Math.max(1, isRefused ? asked + 1 : asked); times + changes <= maxAsks; times++) {
      // The handler may have returned without awaiting this ask. Then nothing more may be sent to the client.
      this.#lifecycle.assertOpen(`The question "${key}"`)
      this.#journal.open.set(key, { question: pin(question), times, changes })
      const response = await push(key, request)
      const caller = approvingCaller(key, question, this.#options)
      await assertForCaller(key, question, caller, this.#waitElsewhere, this.#options)
      const reading = await this.#read(key, question, response)
      if (reading.ok) {
        this.#keep(key, question, response as Readonly<Record<string, unknown>>, caller)
        return reading.value
      }
      request = requestAfter(question, reading)
    }
    throw exhausted(key, maxAsks, changes)
  }

  #timesAsked<T>(key: string, question: Question<T>): number {
    const before = this.#journal.open.get(key)
    if (before !== undefined && before.question === pin(question)) return before.times
    // A journal with only an unpinned question is not sent to the client (see isBlank); a response to the key shows
    // that the question was asked once.
    return !question.pinned && Object.hasOwn(this.#options.responses, key) ? 1 : 0
  }

  #keep<T>(
    key: string,
    question: Question<T>,
    response: Readonly<Record<string, unknown>>,
    caller: AnsweredBy | undefined,
  ): void {
    const { answers, open } = this.#journal
    const by = answers.get(key)?.by ?? caller
    const isNew = open.delete(key) || !answers.has(key)
    if (isNew) this.gained++
    answers.set(key, { question: pin(question), response, ...(by !== undefined && { by }) })
  }
}

function own(responses: Readonly<Record<string, unknown>>, key: string): Record<string, unknown> | undefined {
  const response = Object.hasOwn(responses, key) ? responses[key] : undefined
  return isObject(response) ? response : undefined
}

const MISSHAPEN: Reading<never> = { ok: false }

function requestAfter({ request, again }: Question<unknown>, reading: Reading<unknown>): InputRequest {
  const issues = reading.ok ? undefined : reading.issues
  return issues === undefined ? request : (again?.(issues) ?? request)
}

function pin(question: Question<unknown>): string | undefined {
  return question.pinned ? question.fingerprint : undefined
}

function exhausted(key: string, times: number, changes: number): JournalError {
  if (changes > 0) return changing(key, times)
  return new JournalError('ASK_EXHAUSTED', `No usable answer to "${key}" came after it was asked ${times} times.`)
}

function changing(key: string, times: number): JournalError {
  return new JournalError(
    'ASK_EXHAUSTED',
    `The question "${key}" had another text or key each of the ${times} times it was asked, so that no answer fits it. Take ` +
      'what varies, such as a time or a random number, from ctx.step.',
  )
}
