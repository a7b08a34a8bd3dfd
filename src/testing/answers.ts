/** The answers to the questions of an exercised call. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { isElicitAction, isObject, type Json } from '../protocol/index.ts'
import { ExerciseError } from './errors.ts'

/**
 * The content of a form; the action of the user (`'accept'`, `'decline'`, `'cancel'`); a whole response, such as
 * `{ action: 'accept', content }` or a sampling result; or a function that returns one of these.
 */
export type Answer = 'accept' | 'decline' | 'cancel' | Json | ((request: InputRequest) => Answer)

/** The answer to each question, by its key. */
export type Answers = Readonly<Record<string, Answer>>

export function answerAll(requests: Readonly<Record<string, InputRequest>>, answers: Answers): Record<string, Json> {
  return Object.fromEntries(Object.entries(requests).map(([key, request]) => [key, answerOne(key, request, answers)]))
}

/** Whether a function answers the question, which may answer differently when the question is asked again. */
export function isFunctionAnswer(key: string, answers: Answers): boolean {
  return typeof answers[key] === 'function'
}

function answerOne(key: string, request: InputRequest, answers: Answers): Json {
  if (!Object.hasOwn(answers, key)) {
    throw new ExerciseError(
      'ANSWER_MISSING',
      `The question "${key}" was asked and has no answer; add it to the answers.`,
    )
  }
  return toResponse(request, answers[key] as Answer)
}

function toResponse(request: InputRequest, answer: Answer): Json {
  if (typeof answer === 'function') return toResponse(request, answer(request))
  if (typeof answer === 'string') return { action: answer }
  const isWhole = request.method !== 'elicitation/create' || (isObject(answer) && isElicitAction(answer['action']))
  return isWhole ? answer : { action: 'accept', content: answer }
}
