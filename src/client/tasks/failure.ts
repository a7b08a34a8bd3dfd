/** The error answer to a caller whose task gives no result. */
import { CODES, type RequestId } from '../../protocol/index.ts'
import { ClientError, SEE_CAUSE } from '../errors.ts'
import { errorMessage } from '../layer/message.ts'
import { ServerFault } from '../layer/ownRequests.ts'
import type { WireMessage } from '../layer/transport.ts'

/** An error of the server is passed on as it came. Our own errors hold the task's id, so that the host can go on with it. */
export function taskFailure(id: RequestId, error: unknown, taskId?: string): WireMessage {
  const known = clientErrorOf(error)
  if (known instanceof ServerFault) {
    const { code, message, data } = known
    return { jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } }
  }
  const { cause } = known
  return errorMessage(id, CODES.INTERNAL_ERROR, known.message, {
    code: known.code,
    ...(cause !== undefined && { cause }),
    ...(taskId !== undefined && { taskId }),
  })
}

function clientErrorOf(error: unknown): ClientError | ServerFault {
  if (error instanceof ClientError) return error
  if (!(error instanceof ServerFault)) {
    return new ClientError('TASK_UNREACHABLE', `The task cannot be followed. ${SEE_CAUSE}`, { cause: error })
  }
  if (error.isTimeout) return new ClientError('REQUEST_TIMED_OUT', error.message)
  if (error.code !== CODES.HEADER_MISMATCH) return error
  const sentence = 'The server requires a header with the name of the task; give the transport "fetch: tasksFetch()".'
  return new ClientError('TASK_UNREACHABLE', sentence, { cause: error })
}
