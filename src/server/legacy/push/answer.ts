/** Converts a client's response to a pushed question into the answer. */
import { ECHO_META_KEY, isObject, type Json, type ResponseMessage } from '../../../protocol/index.ts'
import { ServerError } from '../../errors.ts'

/** The result of an answer, without the echoed state. */
export function bareResult({ result }: ResponseMessage): Json | undefined {
  const meta = result?.['_meta']
  if (result === undefined || !isObject(meta) || !(ECHO_META_KEY in meta)) return result
  const { [ECHO_META_KEY]: _, ...rest } = meta
  const { _meta, ...bare } = result
  return Object.keys(rest).length === 0 ? bare : { ...bare, _meta: rest }
}

export function couldNotAnswer(): ServerError {
  return unanswered('The client could not answer.')
}

export function unanswered(why: string): ServerError {
  return new ServerError('PUSH_UNANSWERED', why)
}
