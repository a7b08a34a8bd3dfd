/** One task in the two forms of the protocol: that of the tasks extension, and that of revision 2025-11-25. */
import {
  hasEnded,
  isObject,
  isTaskStatus,
  type Json,
  readRelatedTask,
  relatedTask,
  withoutUndefined,
  withRelatedTask,
} from '../../../protocol/index.ts'

/** A task of the extension, as a session-era client reads it. */
export function sessionForm(task: Json): Json {
  const { taskId, statusMessage, createdAt, lastUpdatedAt, ttlMs = null, pollIntervalMs, _meta: meta } = task
  return withoutUndefined({
    taskId,
    status: sessionStatus(task),
    statusMessage,
    createdAt,
    lastUpdatedAt,
    ttl: ttlMs,
    pollInterval: pollIntervalMs,
    _meta: meta,
  })
}

/** A task of the session era, as a client of the extension reads it. */
export function modernForm(task: Json): Json {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttl = null, pollInterval, _meta: meta } = task
  return withoutUndefined({
    taskId,
    status,
    statusMessage,
    createdAt,
    lastUpdatedAt,
    ttlMs: ttl,
    pollIntervalMs: pollInterval,
    _meta: meta,
  })
}

/** In the session era a task whose result has `isError` has failed. */
function sessionStatus({ status, result }: Json): unknown {
  return status === 'completed' && isObject(result) && result['isError'] === true ? 'failed' : status
}

export function isOver({ status }: Json): boolean {
  return isTaskStatus(status) && hasEnded(status)
}

/** Replaces the task id in a message, if it has one, by the reader's id of the task. */
export function relatedTo(message: Json, taskId: string | undefined): Json {
  const { _meta: meta } = message
  if (!isObject(meta) || readRelatedTask(meta) === undefined) return message
  const related = relatedTask('')
  const rest = Object.fromEntries(Object.entries(meta).filter(([key]) => !(key in related)))
  return { ...message, _meta: { ...rest, ...(taskId !== undefined && relatedTask(taskId)) } }
}

/** The result of a task for the session era, which has no types of results. */
export function resultForm(given: Json, taskId: string): Json {
  const { resultType: _, ...result } = given
  return withRelatedTask(result, taskId)
}
