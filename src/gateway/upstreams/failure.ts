import { failureReason } from '../../client/index.ts'
import { BackendError } from '../errors.ts'

/** What callers hear of a request that has no answer. `wasSent`: whether the server may have got it. */
export function unanswered(server: string, cause: unknown, wasSent: boolean): BackendError {
  const { why = 'the connection is broken.' } = failureReason(cause)
  if (!wasSent) return new BackendError('BACKEND_DOWN', server, `cannot be reached: ${why}`, { cause })
  const sentence = `gave no answer: ${why} What the call does may have happened.`
  return new BackendError('BACKEND_LOST', server, sentence, { cause })
}
