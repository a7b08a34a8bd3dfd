/**
 * Requests to the layer itself, by which `getTask`, `answerTask` and `cancelTask` reach it through the SDK's client. So
 * they carry what each request of the client carries, and need not know the server's dialect. No server sees them.
 */
import { CODES, isObject, type Json } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import { paramsOf, resultMessage, type WireRequest } from '../layer/message.ts'
import { httpStatusOf, ServerFault } from '../layer/ownRequests.ts'
import type { WireMessage } from '../layer/transport.ts'
import type { TaskDialect } from './dialects.ts'
import { taskFailure } from './failure.ts'

export const CONTROL_METHODS = {
  get: 'dev.pannier/tasks/get',
  answer: 'dev.pannier/tasks/answer',
  cancel: 'dev.pannier/tasks/cancel',
} as const

const methods: ReadonlySet<string> = new Set(Object.values(CONTROL_METHODS))

export function isControlRequest({ method }: WireRequest): boolean {
  return methods.has(method)
}

/** Runs a control request, and gives its answer. Never rejects. */
export async function runControlRequest(
  message: WireRequest,
  dialect: TaskDialect,
  signal: AbortSignal,
): Promise<WireMessage> {
  try {
    return resultMessage(message.id, { resultType: 'complete', ...(await run(message, dialect, signal)) })
  } catch (error) {
    return taskFailure(message.id, hasNoTasks(error) ? noTasks(error) : error)
  }
}

/** Whether the server does not know the method. Over HTTP it may say so by the status alone. */
function hasNoTasks(error: unknown): boolean {
  return error instanceof ServerFault ? error.code === CODES.METHOD_NOT_FOUND : httpStatusOf(error) === 404
}

function noTasks(cause: unknown): ClientError {
  return new ClientError('TASKS_MISSING', 'The server has no tasks.', { cause })
}

async function run(message: WireRequest, dialect: TaskDialect, signal: AbortSignal): Promise<Json> {
  const { inputResponses } = paramsOf(message)
  switch (message.method) {
    case CONTROL_METHODS.get:
      return { task: await dialect.read(signal) }
    case CONTROL_METHODS.answer:
      await dialect.answer(isObject(inputResponses) ? (inputResponses as Readonly<Record<string, Json>>) : {}, signal)
      return {}
    default:
      await dialect.cancel(signal)
      return {}
  }
}
