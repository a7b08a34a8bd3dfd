import type { Answerer, Asked } from '../questions/answerer.ts'
import { ClientError } from '../errors.ts'
import { type Given, questionName, responseTo } from '../questions/response.ts'

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
    throw unanswered(asked)
  }
}

function unanswered({ key, isPushed = false }: Asked): ClientError {
  const sentence = isPushed
    ? 'A server of an older revision asked a question, and those have no keys; give one answer for whatever is asked ("otherwise" of fixed, "*" of --answers).'
    : `${questionName(key)} was asked and has no answer; add it.`
  return new ClientError('QUESTION_UNANSWERED', sentence)
}
