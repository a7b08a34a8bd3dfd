/** Asking all questions of one round together. */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Json } from '../../protocol/index.ts'
import { AnswerLater, type Asked } from './answerer.ts'
import type { Questions } from './inputRequests.ts'

export interface Answered {
  readonly answers: Readonly<Record<string, Json>>
  /** The questions that their answerers left for later. */
  readonly open: Readonly<Record<string, LeftOpen>>
}

/** A question without an answer, and what its answerer threw. */
export interface LeftOpen {
  readonly request: InputRequest
  readonly later: AnswerLater
}

/** A question, and the signal that ends it. */
export type KeyedQuestion = Pick<Asked, 'key' | 'request' | 'signal'>

/**
 * Asks all questions at once. When one fails, the others are aborted. When one is suspended, the others continue, so that their answers need not be asked again.
 */
export async function answerAll(
  questions: Questions,
  cancelled: AbortSignal,
  ask: (question: KeyedQuestion) => Promise<Json>,
): Promise<Answered> {
  cancelled.throwIfAborted()
  // Its own signal: an answerer that has answered is not notified of later events of the call.
  const ended = new AbortController()
  const end = (): void => ended.abort(cancelled.reason)
  cancelled.addEventListener('abort', end, { once: true })
  const { signal } = ended
  const answers: [string, Json][] = []
  const open: [string, LeftOpen][] = []
  const one = async ([key, request]: readonly [string, InputRequest]): Promise<void> => {
    try {
      answers.push([key, await ask({ key, request, signal })])
    } catch (error) {
      if (!(error instanceof AnswerLater)) {
        ended.abort()
        throw error
      }
      open.push([key, { request, later: error }])
    }
  }
  await Promise.all(questions.map(one)).finally(() => cancelled.removeEventListener('abort', end))
  return { answers: Object.fromEntries(answers), open: Object.fromEntries(open) }
}
