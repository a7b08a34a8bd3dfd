import type { Answerer } from './answerer.ts'
import { ClientError } from './errors.ts'
import { type Given, questionName, responseTo } from './response.ts'

export interface FixedOptions {
  /** Answers what has no fixed answer. @default such a question is an error, and ends the call */
  otherwise?: Answerer
}

/** Gives known answers by their keys: `fixed({ confirm: { ok: true }, address: 'decline' })`. */
export function fixed(answers: Readonly<Record<string, Given>>, { otherwise }: FixedOptions = {}): Answerer {
  return (asked) => {
    const { key, request } = asked
    const given = Object.hasOwn(answers, key) ? answers[key] : undefined
    if (given !== undefined) return responseTo(key, request, given)
    if (otherwise !== undefined) return otherwise(asked)
    throw new ClientError('QUESTION_UNANSWERED', `${questionName(key)} was asked and has no answer; add it.`)
  }
}
