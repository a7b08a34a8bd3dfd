/** POSTs of a session: messages without a response, and the errors of refused ones. */
import type { IncomingHttpHeaders } from 'node:http'
import { SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'
import { MessageOverLimit, parseServerText } from '../../../client/internal.ts'
import { type Json, mediaTypeOf, unref } from '../../../protocol/index.ts'
import { answerIn, lostIn, mayBeLost, type RefusedPost, SessionLost } from '../lostSession.ts'
import type { Exchange, Reply } from './exchange.ts'

/** Timeout for the HTTP response. */
const RESPONSE_MS = 60_000
const MAX_SENDS = 3

/**
 * Sends a notification, or the answer to a question; `post` sends the message. A broken connection is retried, because
 * servers tolerate duplicates; a timeout is not.
 */
export async function sendNotice(
  post: (onOpen: (exchange: Exchange) => void) => Promise<Reply>,
  isClosed: () => boolean,
): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isLate = false
  const onOpen = (exchange: Exchange): void => {
    const giveUp = (): void => {
      isLate = true
      exchange.cancel()
    }
    clearTimeout(timer)
    timer = unref(setTimeout(giveUp, RESPONSE_MS))
  }
  for (let sends = 1; ; sends++) {
    try {
      const reply = await post(onOpen)
      return void (await reply.text().catch(() => {})) // the message has been delivered, so a broken body does not matter
    } catch (error) {
      const isReply = error instanceof SdkHttpError || error instanceof SessionLost
      if (isReply || isLate || isClosed() || sends === MAX_SENDS) throw error
    } finally {
      clearTimeout(timer)
    }
  }
}

export interface RefusedReply extends RefusedPost {
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Statuses by which a server refuses credentials, whatever the text of the response. */
const ACCESS: ReadonlySet<number> = new Set([401, 403])
/** Maximum length of the text in the error. */
const MAX_CHARS = 65_536

/**
 * The error of a refused POST: a lost session, the server's error for the request, or the status. The text beside the
 * status has the limits of a message.
 */
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
