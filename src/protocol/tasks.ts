/** What both dialects of tasks (SEP-2663 and 2025-11-25) have in common, for servers and clients. */
import type { ClientCapabilities, InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json } from './jsonRpc.ts'
import type { Era } from './versions.ts'

/** SEP-2663: declared by a server in `server/discover`, and by a client with each request. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/** The `_meta` key of 2025-11-25 for the task that a message belongs to. */
const RELATED_TASK = 'io.modelcontextprotocol/related-task'

/**
 * The `_meta` key for the progress of a task: neither dialect has a member for it, and the extension has no
 * notification.
 */
const PROGRESS_META = 'dev.pannier/progress'

/** The `_meta` of a task that says how far it is. */
export function progressMeta(progress: { readonly progress: number; readonly total?: number | undefined }): Json {
  return { [PROGRESS_META]: progress }
}

/** How far a task is, by its `_meta`. */
export function readProgressMeta(meta: unknown): { progress: number; total?: number } | undefined {
  const told = isObject(meta) ? meta[PROGRESS_META] : undefined
  if (!isObject(told)) return undefined
  const { progress, total } = told
  if (typeof progress !== 'number') return undefined
  return { progress, ...(typeof total === 'number' && { total }) }
}

const TASK_STATUSES = ['working', 'input_required', 'completed', 'failed', 'cancelled'] as const

/** The status of a task. */
export type TaskStatus = (typeof TASK_STATUSES)[number]

export function isTaskStatus(value: unknown): value is TaskStatus {
  return TASK_STATUSES.includes(value as TaskStatus)
}

export function hasEnded(status: TaskStatus): boolean {
  return status !== 'working' && status !== 'input_required'
}

/** Whether a request declares that a task may come in place of its result. */
export function declaresTasks(declared: ClientCapabilities): boolean {
  const { extensions } = declared as { extensions?: unknown }
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION])
}

/** Whether tool calls may become tasks at a server, by its declaration. */
export function offersTasks(era: Era, declared: Json): boolean {
  if (era === 'modern') return declaresTasks(declared)
  const { tasks } = declared
  const requests = isObject(tasks) ? tasks['requests'] : undefined
  const tools = isObject(requests) ? requests['tools'] : undefined
  return isObject(tools) && isObject(tools['call'])
}

/** The `_meta` that ties a message to a task. */
export function relatedTask(taskId: string): Json {
  return { [RELATED_TASK]: { taskId } }
}

export function withRelatedTask(message: Json, taskId: string): Json {
  const { _meta: meta } = message
  return { ...message, _meta: { ...(isObject(meta) ? meta : {}), ...relatedTask(taskId) } }
}

/** A question of a task, as it is pushed to a client. */
export function questionOfTask(request: InputRequest, taskId: string): InputRequest {
  return { ...request, params: withRelatedTask(request.params ?? {}, taskId) } as InputRequest
}

/** The task that a message says it belongs to. */
export function readRelatedTask(meta: unknown): string | undefined {
  const related = isObject(meta) ? meta[RELATED_TASK] : undefined
  const taskId = isObject(related) ? related['taskId'] : undefined
  return typeof taskId === 'string' ? taskId : undefined
}

/** The error of a task. `tasks/result` answers with it, as the call would have answered. */
export class TaskFailed extends Error {
  override readonly name = 'TaskFailed'
  readonly code: number
  readonly data: unknown

  constructor({ code, message, data }: { readonly code: number; readonly message: string; readonly data?: unknown }) {
    super(message)
    this.code = code
    this.data = data
  }
}
