/**
 * Going on with a task from its id, in any process that reaches its server: with a connected client of either SDK that
 * has `tasks()` around its transport. Which dialect the server speaks is the layer's business.
 */
import { CODES, isObject, type Json, MAX_TIMER_MS } from '../../protocol/index.ts'
import { clientCode, ClientError } from '../errors.ts'
import { quotedKeys } from '../questions/kinds.ts'
import { type Given, responseTo } from '../questions/response.ts'
import type { Task } from './task.ts'
import { ERRANDS } from './controlRequest.ts'
import { taskOf, ticketText } from './handle.ts'
import { httpStatusOf } from '../layer/ownRequests.ts'

/** A connected client of either SDK. */
export interface TaskClient {
  request(request: never, schema: never, options?: never): Promise<unknown>
}

export interface TaskRequestOptions {
  signal?: AbortSignal
}

export interface WatchOptions extends TaskRequestOptions {
  /** Hears each change of the status, and of what the server says about it. */
  onStatus?: (task: Pick<Task, 'taskId' | 'status' | 'statusMessage'>) => void
}

/** How a task is now, with what it asks, and with its result or error once it has one. */
export async function getTask(client: TaskClient, taskId: string, options: TaskRequestOptions = {}): Promise<Task> {
  const { task } = await send(client, ERRANDS.get, { taskId }, options)
  return task as Task
}

/**
 * Answers what a task asks, by the keys of its questions; not all of them need be answered at once. Each answer is held
 * against its question before anything is sent.
 */
export async function answerTask(
  client: TaskClient,
  taskId: string,
  answers: Readonly<Record<string, Given>>,
  options: TaskRequestOptions = {},
): Promise<void> {
  const inputResponses = matched(await getTask(client, taskId, options), answers)
  await send(client, ERRANDS.answer, { taskId, inputResponses }, options)
}

/** Asks the server to cancel a task, which it may do at once, later or not at all. */
export async function cancelTask(client: TaskClient, taskId: string, options: TaskRequestOptions = {}): Promise<void> {
  await send(client, ERRANDS.cancel, { taskId }, options)
}

/**
 * Follows a task to its end and gives the result that its call would have got; fails with the error that it would have
 * got. What it asks goes to the answerers of the layer. Giving up through the signal does not cancel it.
 */
export async function watchTask(client: TaskClient, taskId: string, options: WatchOptions = {}): Promise<Json> {
  const { signal, onStatus } = options
  const requestState = ticketText({ taskId, isWatch: true })
  const params = { name: 'task', arguments: {}, requestState }
  const onprogress = onStatus && ((progress: unknown) => tell(progress, onStatus))
  return send(client, 'tools/call', params, { ...(signal && { signal }), ...(onprogress && { onprogress }) })
}

function tell(progress: unknown, onStatus: NonNullable<WatchOptions['onStatus']>): void {
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

/** A schema for the clients of both versions. What came was read by the layer. */
const ANY_RESULT = {
  safeParse: (data: unknown) => ({ success: true, data }),
  '~standard': { version: 1, vendor: 'pannier', validate: (value: unknown) => ({ value }) },
}

function matched(task: Task, answers: Readonly<Record<string, Given>>): Json {
  const { status, inputRequests } = task
  if (status === 'input_required' && inputRequests === undefined) {
    const sentence = 'This server asks on the stream of whoever waits for the result; follow the task with watchTask.'
    throw new ClientError('TASK_UNANSWERABLE', sentence)
  }
  const asked = inputRequests ?? {}
  const strange = Object.keys(answers).filter((key) => !Object.hasOwn(asked, key))
  if (strange.length > 0) throw unasked(strange, Object.keys(asked))
  return Object.fromEntries(
    Object.entries(asked).flatMap(([key, request]) => {
      const given = answers[key]
      return Object.hasOwn(answers, key) && given !== undefined ? [[key, responseTo(key, request, given)] as const] : []
    }),
  )
}

function unasked(strange: readonly string[], asked: readonly string[]): ClientError {
  const asks = asked.length === 0 ? 'it asks nothing now' : `it asks ${quotedKeys(asked)}`
  return new ClientError('QUESTION_UNANSWERED', `The task does not ask ${quotedKeys(strange)}; ${asks}.`)
}

/** No server knows what is asked of the layer. */
function isUnknownMethod(error: unknown): boolean {
  if (!isObject(error) || clientCode(error) !== undefined) return false
  return error['code'] === CODES.METHOD_NOT_FOUND || httpStatusOf(error) === 404
}

function layerMissing(cause: unknown): ClientError {
  return new ClientError('TASKS_MISSING', "Put the layer tasks() around the client's transport.", { cause })
}
