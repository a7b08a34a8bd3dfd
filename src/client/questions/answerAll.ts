/** The questions of one round, answered together. */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Json } from '../../protocol/index.ts'
import type { Asked } from './answerer.ts'
import type { InputRequired } from './inputRequests.ts'
import { Suspend } from '../suspend/suspend.ts'

export interface Answered {
  readonly answers: Readonly<Record<string, Json>>
  /** The questions that were left for later. None in most rounds. */
  readonly open: Readonly<Record<string, { readonly request: InputRequest; readonly suspend: Suspend }>>
}

/** A question, and until when its answer is wanted. */
export type Question = Pick<Asked, 'key' | 'request' | 'signal'>

export type Ask = (question: Question) => Promise<Json>

/**
 * Asks everything at once. One that fails ends the others; one that is suspended does not, so that what they answer is
 * not asked again.
 */
export async function answerAll(
  questions: InputRequired['questions'],
  cancelled: AbortSignal,
  ask: Ask,
): Promise<Answered> {
  cancelled.throwIfAborted()
  // Who has answered hears nothing of what happens to the call after that.
  const ended = new AbortController()
  const end = (): void => ended.abort(cancelled.reason)
  cancelled.addEventListener('abort', end, { once: true })
  const { signal } = ended
  const answers: [string, Json][] = []
  const open: [string, { request: InputRequest; suspend: Suspend }][] = []
  const one = async ([key, request]: readonly [string, InputRequest]): Promise<void> => {
    try {
      answers.push([key, await ask({ key, request, signal })])
    } catch (error) {
      if (!(error instanceof Suspend)) {
        ended.abort()
        throw error
      }
      open.push([key, { request, suspend: error }])
    }
  }
  await Promise.all(questions.map(one)).finally(() => cancelled.removeEventListener('abort', end))
  return { answers: Object.fromEntries(answers), open: Object.fromEntries(open) }
}

/** Waits; rejects as soon as nobody waits any more. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (ms === 0) return
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason instanceof Error ? signal.reason : new Error('The call was cancelled.'))
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}
