/** A task as its client sees it, whichever dialect its server speaks. It is checked here, where it is read from the wire. */
import type { InputRequest } from '@modelcontextprotocol/client'
import {
  hasEnded,
  isObject,
  isTaskStatus,
  type Json,
  readProgressMeta,
  type TaskStatus,
  CODES,
  type RequestId,
} from '../../protocol/index.ts'
import { ClientError, SEE_CAUSE } from '../errors.ts'
import { readInputRequired } from '../questions/inputRequests.ts'
import { errorMessage } from '../layer/message.ts'
import { ServerFault } from '../layer/ownRequests.ts'
import type { WireMessage } from '../layer/transport.ts'

/** A task, as both dialects tell it. */
export interface Task {
  /** The id that the server gave it. */
  readonly taskId: string
  /** Its address. */
  readonly status: TaskStatus
  /** The server's words; not safe for a terminal. */
  readonly statusMessage?: string
  /** Its progress, if the server reports it. */
  readonly progress?: { readonly progress: number; readonly total?: number }
  readonly createdAt?: string
  readonly lastUpdatedAt?: string
  /** The time to live from the creation, in milliseconds; null for no limit. */
  readonly ttlMs: number | null
  /** How often the server wishes to be polled. */
  readonly pollIntervalMs?: number
  /** The open questions, by key. Absent with session-era servers that push their questions. */
  readonly inputRequests?: Readonly<Record<string, InputRequest>>
  /** Of a completed task. */
  readonly result?: Json
  /** The error of the call, for a failed task. */
  readonly error?: TaskErrorObject
}

/** A JSON-RPC error. */
export interface TaskErrorObject {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

const MAX_TASK_ID_CHARS = 4096

/** Reads the members that all dialects have. Throws an error that names the wrong member, without its value. */
export function readTask(value: unknown, expectedId?: string): Task {
  if (!isObject(value)) throw invalidTask('it is not an object')
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt } = value
  if (typeof taskId !== 'string' || taskId === '' || taskId.length > MAX_TASK_ID_CHARS)
    throw invalidTask('it has no id')
  if (expectedId !== undefined && taskId !== expectedId) throw invalidTask('its id is not the one that was asked for')
  if (!isTaskStatus(status)) throw invalidTask('its status does not exist')
  const progress = readProgressMeta(value['_meta']) ?? readProgressMeta({ 'dev.pannier/progress': value['progress'] })
  const pollIntervalMs = value['pollIntervalMs'] ?? value['pollInterval']
  return {
    taskId,
    status,
    ...(typeof statusMessage === 'string' && { statusMessage }),
    ...(progress !== undefined && { progress }),
    ...(typeof createdAt === 'string' && { createdAt }),
    ...(typeof lastUpdatedAt === 'string' && { lastUpdatedAt }),
    ttlMs: readTtl(value['ttlMs'] ?? value['ttl']),
    ...(isDuration(pollIntervalMs) && { pollIntervalMs }),
  }
}

/** Reads a whole task of the revision 2026-07-28, from `tasks/get`. */
export function readWholeTask(value: unknown, expectedId?: string): Task {
  const task = readTask(value, expectedId)
  const { inputRequests, result, error } = value as Json
  switch (task.status) {
    case 'input_required':
      return { ...task, inputRequests: Object.fromEntries(readInputRequired({ inputRequests }).questions) }
    case 'completed':
      if (!isObject(result)) throw invalidTask('it is completed and has no result')
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

function readTaskError(error: unknown): TaskErrorObject {
  if (!isObject(error)) throw invalidTask('it has failed and has no error')
  const { code, message, data } = error
  if (typeof code !== 'number' || !Number.isInteger(code) || typeof message !== 'string') {
    throw invalidTask('it has failed, and its error is not a JSON-RPC error')
  }
  return { code, message, ...(data !== undefined && { data }) }
}

/** The result of a task, for the caller. It must be complete: a task whose result is a task would never end. */
export function finalResult(result: Json): Json {
  const { resultType } = result
  if (resultType === undefined || resultType === 'complete') return { ...result, resultType: 'complete' }
  throw invalidTask('its result asks for input or is another task')
}

export function isOver({ status }: Task): boolean {
  return hasEnded(status)
}

export function invalidTask(what: string): ClientError {
  return new ClientError('TASK_INVALID', `The server sent an invalid task: ${what}.`)
}

function readTtl(value: unknown): number | null {
  return isDuration(value) ? value : null
}

function isDuration(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/**
 * An error of the server is passed on as it came. Our own errors hold the task's id, so that the host can continue with
 * it.
 */
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
