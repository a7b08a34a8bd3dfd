/** One task in the two forms of the protocol: that of the tasks extension, and that of revision 2025-11-25. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { hasEnded, isObject, isTaskStatus, type Json, readRelatedTask, relatedTask } from '../../../protocol/index.ts'

/** A task of the extension, as a session-era client reads it. */
export function sessionForm(task: Json): Json {
  const { taskId, statusMessage, createdAt, lastUpdatedAt, ttlMs = null, pollIntervalMs, _meta: meta } = task
  return withoutAbsent({
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

/** What both forms have, from that of the session era. */
export function modernForm(task: Json): Json {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttl = null, pollInterval, _meta: meta } = task
  return withoutAbsent({
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

/** The message with the id that its task has for the reader, where it names one. */
export function relatedTo(message: Json, taskId: string | undefined): Json {
  const { _meta: meta } = message
  if (!isObject(meta) || readRelatedTask(meta) === undefined) return message
  const related = relatedTask('')
  const rest = Object.fromEntries(Object.entries(meta).filter(([key]) => !(key in related)))
  return { ...message, _meta: { ...rest, ...(taskId !== undefined && relatedTask(taskId)) } }
}

/** A question that belongs to a task, as it is pushed to a client. */
export function askedFor(request: InputRequest, taskId: string): InputRequest {
  const params = (request.params ?? {}) as Json
  const _meta = { ...(params['_meta'] as Json | undefined), ...relatedTask(taskId) }
  return { ...request, params: { ...params, _meta } } as InputRequest
}

function withoutAbsent(task: Json): Json {
  return Object.fromEntries(Object.entries(task).filter(([, value]) => value !== undefined))
}
