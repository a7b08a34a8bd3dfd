/**
 * What a POST ends with that was no success: a session that the server does not know, the error that answers the request, or
 * the status. What the server says beside its status has the limits of a message.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'
import { MessageOverLimit, parseServerText } from '../../../client/internal.ts'
import { type Json, mediaTypeOf } from '../../../protocol/index.ts'
import { answerIn, lostIn, mayBeLost, type RefusedPost } from '../lostSession.ts'

export interface RefusedReply extends RefusedPost {
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** With these a server refuses credentials, whatever else it says. */
const ACCESS: ReadonlySet<number> = new Set([401, 403])
/** How much of the text goes with a status. */
const MAX_CHARS = 65_536

export function refusalOfPost({ id, method }: Json, reply: RefusedReply, maxBytes: number): Error {
  const { status, headers, text } = reply
  const said = parsedOrOver(text, maxBytes)
  const answer = answerIn(said, id)
  const lost = method !== 'initialize' && mayBeLost(status) ? lostIn(text, answer, reply) : undefined
  if (lost !== undefined) return lost
  const mayBeAnswered = method !== undefined && id !== undefined && !ACCESS.has(status)
  if (mayBeAnswered && answer !== undefined) return answer
  const isOver = said instanceof MessageOverLimit && mediaTypeOf(headers['content-type']) === 'application/json'
  return mayBeAnswered && isOver ? said : refused(status, text.slice(0, MAX_CHARS))
}

function parsedOrOver(text: string, maxBytes: number): unknown {
  try {
    return parseServerText(text, maxBytes)
  } catch (error) {
    return error
  }
}

function refused(status: number, text: string): SdkHttpError {
  const sentence = `The server answered HTTP ${status}.`
  return new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, sentence, { status, statusText: '', text })
}
