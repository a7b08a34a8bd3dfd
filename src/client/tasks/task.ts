/** A task as its client sees it, whichever dialect its server speaks: read from the wire here, sound from here on. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { hasEnded, isObject, isTaskStatus, type Json, type TaskStatus } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import { readInputRequired } from '../questions/inputRequests.ts'

export interface Task {
  readonly taskId: string
  readonly status: TaskStatus
  /** What the server says about it; not safe for a terminal. */
  readonly statusMessage?: string
  readonly createdAt?: string
  readonly lastUpdatedAt?: string
  /** How long it lives from its creation, in milliseconds; null where that has no end. */
  readonly ttlMs: number | null
  /** How often to look, as the server wishes. */
  readonly pollIntervalMs?: number
  /** What waits for an answer, by key. Session-era servers that push their questions do not tell. */
  readonly inputRequests?: Readonly<Record<string, InputRequest>>
  /** Of a completed task. */
  readonly result?: Json
  /** Of a failed task: the error that the call would have got. */
  readonly error?: TaskError
}

/** A JSON-RPC error. */
export interface TaskError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

const MAX_ID_CHARS = 4096

/** What both dialects say of a task; throws, naming the part that is wrong and no value. */
export function readTask(value: unknown, expectedId?: string): Task {
  if (!isObject(value)) throw invalid('it is no object')
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt } = value
  if (typeof taskId !== 'string' || taskId === '' || taskId.length > MAX_ID_CHARS) throw invalid('it has no id')
  if (expectedId !== undefined && taskId !== expectedId) throw invalid('it is another one than was asked for')
  if (!isTaskStatus(status)) throw invalid('its status is none that there is')
  const pollIntervalMs = value['pollIntervalMs'] ?? value['pollInterval']
  return {
    taskId,
    status,
    ...(typeof statusMessage === 'string' && { statusMessage }),
    ...(typeof createdAt === 'string' && { createdAt }),
    ...(typeof lastUpdatedAt === 'string' && { lastUpdatedAt }),
    ttlMs: readTtl(value['ttlMs'] ?? value['ttl']),
    ...(isDuration(pollIntervalMs) && { pollIntervalMs }),
  }
}

/** A task of the revision 2026-07-28 with everything in it, as `tasks/get` and `notifications/tasks` tell it. */
export function readWholeTask(value: unknown, expectedId?: string): Task {
  const task = readTask(value, expectedId)
  const { inputRequests, result, error } = value as Json
  switch (task.status) {
    case 'input_required':
      return { ...task, inputRequests: Object.fromEntries(readInputRequired({ inputRequests }).questions) }
    case 'completed':
      if (!isObject(result)) throw invalid('it is completed and has no result')
      return { ...task, result }
    case 'failed':
      return { ...task, error: readTaskError(error) }
    case 'working':
    case 'cancelled':
      return task
    default:
      return task.status satisfies never
  }
}

function readTaskError(error: unknown): TaskError {
  if (!isObject(error)) throw invalid('it has failed and has no error')
  const { code, message, data } = error
  if (typeof code !== 'number' || !Number.isInteger(code) || typeof message !== 'string') {
    throw invalid('it has failed, and its error is none')
  }
  return { code, message, ...(data !== undefined && { data }) }
}

/** A result of a task, for whoever made the call. It has to be one: a task that gives a task never ends. */
export function finalResult(result: Json): Json {
  const { resultType } = result
  if (resultType === undefined || resultType === 'complete') return { ...result, resultType: 'complete' }
  throw invalid('its result is none, but asks or goes on')
}

export function isOver({ status }: Task): boolean {
  return hasEnded(status)
}

export function invalid(what: string): ClientError {
  return new ClientError('TASK_INVALID', `The server says something of a task that cannot be: ${what}.`)
}

function readTtl(value: unknown): number | null {
  return isDuration(value) ? value : null
}

function isDuration(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}
