import { SdkError } from '@modelcontextprotocol/client'
import { unauthorized } from './connectFailure.ts'
import { ClientError } from './errors.ts'
import { failureReason } from './failureReason.ts'

/**
 * What a request fails with that could not be sent, or whose answer could not be read. What is known becomes an error of
 * ours with a sentence; the rest stays what it is.
 */
export function sendFailure(error: unknown): unknown {
  if (error instanceof ClientError) return error
  const { isUnauthorized, why } = failureReason(error)
  if (isUnauthorized) return unauthorized('The server', error)
  if (error instanceof SdkError) return error
  if (isUnreadable(error)) {
    return new ClientError('MESSAGE_UNREADABLE', 'What the server answered is no message of MCP.', { cause: error })
  }
  if (why === undefined) return error
  const sentence = `There is no answer: ${why} If the request was sent, it may have had effects.`
  return new ClientError('STREAM_ENDED', sentence, { cause: error })
}

/** No JSON, or JSON in which the SDK's schemas find no message. */
function isUnreadable(error: unknown): boolean {
  return error instanceof SyntaxError || (error instanceof Error && error.name === 'ZodError')
}
