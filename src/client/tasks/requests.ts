/**
 * Reading, answering, cancelling and watching a task by its id, in any process that reaches its server: with a connected
 * client of either SDK that has `tasks()` around its transport. The layer knows the server's dialect.
 */
import { CODES, isObject, type Json, MAX_TIMER_MS } from '../../protocol/index.ts'
import { clientCode, ClientError } from '../errors.ts'
import { httpStatusOf, ServerFault } from '../layer/ownRequests.ts'
import { quotedKeys } from '../questions/kinds.ts'
import { type Given, responseTo } from '../questions/response.ts'
import { taskOf, ticketText } from './handle.ts'
import { type Task, taskFailure } from './task.ts'
import { paramsOf, resultMessage, type WireRequest } from '../layer/message.ts'
import type { WireMessage } from '../layer/transport.ts'
import type { TaskDialect } from './dialects.ts'

/** A connected client of either SDK. */
export interface TaskClient {
  request(request: never, schema: never, options?: never): Promise<unknown>
}

export interface TaskRequestOptions {
  /** Cancels the request. */
  signal?: AbortSignal
}

export interface WatchOptions extends TaskRequestOptions {
  /** Called with each change of the status or the status message. */
  onStatus?: (task: Pick<Task, 'taskId' | 'status' | 'statusMessage'>) => void
}

/** The current state of the task, with its questions, and with its result or error when it has one. */
export async function getTask(client: TaskClient, taskId: string, options: TaskRequestOptions = {}): Promise<Task> {
  const { task } = await send(client, CONTROL_METHODS.get, { taskId }, options)
  return task as Task
}

/**
 * Answers questions of a task by their keys; some may stay open. Each answer is checked against its question before
 * anything is sent.
 */
export async function answerTask(
  client: TaskClient,
  taskId: string,
  answers: Readonly<Record<string, Given>>,
  options: TaskRequestOptions = {},
): Promise<void> {
  const inputResponses = responsesFor(await getTask(client, taskId, options), answers)
  await send(client, CONTROL_METHODS.answer, { taskId, inputResponses }, options)
}

/** Asks the server to cancel a task, which it may do at once, later or not at all. */
export async function cancelTask(client: TaskClient, taskId: string, options: TaskRequestOptions = {}): Promise<void> {
  await send(client, CONTROL_METHODS.cancel, { taskId }, options)
}

/**
 * Follows a task to its end. Resolves or rejects as its call would have. Its questions go to the answerers of the
 * layer. Aborting the signal does not cancel the task.
 */
export async function watchTask(client: TaskClient, taskId: string, options: WatchOptions = {}): Promise<Json> {
  const { signal, onStatus } = options
  const requestState = ticketText({ taskId, isWatch: true })
  const params = { name: 'task', arguments: {}, requestState }
  const onprogress = onStatus && ((progress: unknown) => reportStatus(progress, onStatus))
  return send(client, 'tools/call', params, { ...(signal && { signal }), ...(onprogress && { onprogress }) })
}

function reportStatus(progress: unknown, onStatus: NonNullable<WatchOptions['onStatus']>): void {
  const task = taskOf(progress)
  if (task !== undefined) onStatus(task)
}

async function send(client: TaskClient, method: string, params: Json, options: object): Promise<Json> {
  const request = { method, params } as never
  try {
    const result = await client.request(request, ANY_RESULT as never, { timeout: MAX_TIMER_MS, ...options } as never)
    return isObject(result) ? result : {}
  } catch (error) {
    if (isUnknownMethod(error) && method !== 'tools/call') throw layerMissing(error)
    throw error
  }
}

/** A schema for the clients of both SDK versions that accepts anything: the layer has read the answer. */
const ANY_RESULT = {
  safeParse: (data: unknown) => ({ success: true, data }),
  '~standard': { version: 1, vendor: 'pannier', validate: (value: unknown) => ({ value }) },
}

function responsesFor(task: Task, answers: Readonly<Record<string, Given>>): Json {
  const { status, inputRequests } = task
  if (status === 'input_required' && inputRequests === undefined) {
    const sentence =
      'This server asks on the stream of the client that waits for the result; follow the task with watchTask.'
    throw new ClientError('TASK_UNANSWERABLE', sentence)
  }
  const asked = inputRequests ?? {}
  const notAsked = Object.keys(answers).filter((key) => !Object.hasOwn(asked, key))
  if (notAsked.length > 0) throw unasked(notAsked, Object.keys(asked))
  return Object.fromEntries(
    Object.entries(asked).flatMap(([key, request]) => {
      const given = answers[key]
      return Object.hasOwn(answers, key) && given !== undefined ? [[key, responseTo(key, request, given)] as const] : []
    }),
  )
}

function unasked(keys: readonly string[], asked: readonly string[]): ClientError {
  const asks = asked.length === 0 ? 'it asks nothing now' : `it asks ${quotedKeys(asked)}`
  return new ClientError('QUESTION_UNANSWERED', `The task does not ask ${quotedKeys(keys)}; ${asks}.`)
}

/** Whether a control request reached the server, which does not know it: the layer is missing then. */
function isUnknownMethod(error: unknown): boolean {
  if (!isObject(error) || clientCode(error) !== undefined) return false
  return error['code'] === CODES.METHOD_NOT_FOUND || httpStatusOf(error) === 404
}

function layerMissing(cause: unknown): ClientError {
  return new ClientError('TASKS_MISSING', "Put the layer tasks() around the client's transport.", { cause })
}

/**
 * Control requests go to the layer itself, through the SDK's client: they carry what each request of the client carries,
 * and need not know the server's dialect. No server sees them.
 */
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

/** Whether the server does not know the method. Over HTTP the status alone may mean that. */
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
