/**
 * What `getTask` and its kin ask of the layer, in the form of requests. So they bring along what each request of their
 * client says, and need not know the server's dialect. No server ever sees them.
 */
import { CODES, isObject, type Json } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import type { TaskTalk } from './dialects.ts'
import { taskFailure } from './failure.ts'
import { httpStatusOf, ServerFault } from '../layer/ownRequests.ts'
import type { WireMessage } from '../layer/transport.ts'
import { paramsOf, resultMessage, type WireRequest } from '../layer/message.ts'

export const ERRANDS = {
  get: 'dev.pannier/tasks/get',
  answer: 'dev.pannier/tasks/answer',
  cancel: 'dev.pannier/tasks/cancel',
} as const

const known: ReadonlySet<string> = new Set(Object.values(ERRANDS))

export function isErrand({ method }: WireRequest): boolean {
  return known.has(method)
}

/** Runs it, and gives its answer. Never rejects. */
export async function runErrand(message: WireRequest, talk: TaskTalk, signal: AbortSignal): Promise<WireMessage> {
  try {
    return resultMessage(message.id, { resultType: 'complete', ...(await run(message, talk, signal)) })
  } catch (error) {
    return taskFailure(message.id, hasNoTasks(error) ? noTasks(error) : error)
  }
}

/** Over HTTP an unknown method may be told by the status alone. */
function hasNoTasks(error: unknown): boolean {
  return error instanceof ServerFault ? error.code === CODES.METHOD_NOT_FOUND : httpStatusOf(error) === 404
}

function noTasks(cause: unknown): ClientError {
  return new ClientError('TASKS_MISSING', 'The server has no tasks.', { cause })
}

async function run(message: WireRequest, talk: TaskTalk, signal: AbortSignal): Promise<Json> {
  const { inputResponses } = paramsOf(message)
  switch (message.method) {
    case ERRANDS.get:
      return { task: await talk.look(signal) }
    case ERRANDS.answer:
      await talk.answer(isObject(inputResponses) ? (inputResponses as Readonly<Record<string, Json>>) : {}, signal)
      return {}
    default:
      await talk.cancel(signal)
      return {}
  }
}
