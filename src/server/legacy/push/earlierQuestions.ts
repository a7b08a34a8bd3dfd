/**
 * The questions that an earlier process asked for a call, and their answers. The handler runs again from the top, so an
 * answer may arrive before the handler has asked again.
 */
import type { Json, RequestId, ResponseMessage } from '../../../protocol/index.ts'
import type { Caller, CarriedCall } from '../../call.ts'
import { bareResult, couldNotAnswer } from './answer.ts'
import type { ResumedQuestion } from './handOff.ts'

interface EarlyAnswer {
  readonly response: ResponseMessage
  readonly answerer: Caller
}

export class EarlierQuestions {
  readonly #resumed = new Map<string, ResumedQuestion>()
  /** The keys of all resumed questions, including those that the handler has asked again. */
  readonly keys = new Map<string, string>()
  /** Answers to questions that the handler has not asked again yet, by key. */
  readonly answers = new Map<string, EarlyAnswer>()
  /** Questions that have been answered. */
  readonly taken = new Set<RequestId>()
  /** Questions whose states are kept until the call ends, because their answers may be repeated. */
  readonly inherited = new Set<string>()

  /** Adds questions that another instance has asked, so that they are not asked again. */
  resume(questions: readonly ResumedQuestion[]): void {
    for (const resumed of questions) {
      this.#resumed.set(resumed.key, resumed)
      this.keys.set(resumed.question, resumed.key)
    }
  }

  takeResumed(key: string): ResumedQuestion | undefined {
    const resumed = this.#resumed.get(key)
    this.#resumed.delete(key)
    return resumed
  }

  /**
   * The answer that came before the handler asked again, if its sender may answer. Throws if the client answered with
   * an error.
   */
  takeAnswer({ key, mayAnswer, onAnswer }: CarriedCall): Json | undefined {
    const early = this.answers.get(key)
    if (early === undefined) return undefined
    const { response, answerer } = early
    this.answers.delete(key)
    if (mayAnswer?.(answerer) === false) {
      this.taken.delete(response.id)
      return undefined
    }
    onAnswer?.(answerer)
    if (response.error !== undefined) throw couldNotAnswer()
    return bareResult(response)
  }
}
