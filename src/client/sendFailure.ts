import { SdkError, SdkHttpError } from '@modelcontextprotocol/client'
import { isObject, type RequestId } from '../protocol/index.ts'
import { unauthorized } from './connectFailure.ts'
import { ClientError } from './errors.ts'
import { failureReason } from './failureReason.ts'
import type { WireMessage } from './layer/transport.ts'

/**
 * What a request fails with that could not be sent, or whose answer could not be read. What is known becomes an error of
 * ours with a sentence; the rest stays what it is.
 */
export function sendFailure(error: unknown): unknown {
  if (error instanceof ClientError) return error
  const { isUnauthorized, why } = failureReason(error)
  if (isUnauthorized) return unauthorized('The server', error)
  if (error instanceof SdkError) return withoutPage(error)
  if (isUnreadable(error)) {
    return new ClientError('MESSAGE_UNREADABLE', 'What the server answered is no message of MCP.', { cause: error })
  }
  if (why === undefined) return error
  const sentence = `There is no answer: ${why} If the request was sent, it may have had effects.`
  return new ClientError('STREAM_ENDED', sentence, { cause: error })
}

/** The SDK puts the whole page into the message, and servers put what they were sent into their pages. */
export function withoutPage(error: Error): Error {
  if (!(error instanceof SdkHttpError)) return error
  return new SdkHttpError(error.code, `The server answered HTTP ${error.status}.`, error.data, { cause: error })
}

/** No JSON, or JSON in which the SDK's schemas find no message. */
function isUnreadable(error: unknown): boolean {
  return error instanceof SyntaxError || (error instanceof Error && error.name === 'ZodError')
}

/**
 * The answer to a request, where it came with a status that is an error. The stateless revision has such answers, as 404
 * with a method that the server does not know; of 400 alone the SDK's transport reads the body.
 */
export function answerIn(error: unknown, id: RequestId): WireMessage | undefined {
  if (!(error instanceof SdkHttpError) || failureReason(error).isUnauthorized) return undefined
  const answer = parsed(isObject(error.data) ? error.data['text'] : undefined)
  if (!isObject(answer) || answer['id'] !== id || !isObject(answer['error'])) return undefined
  const { code, message, data } = answer['error']
  if (!Number.isInteger(code) || typeof message !== 'string') return undefined
  return { jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } }
}

function parsed(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}
