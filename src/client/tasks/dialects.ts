/** The requests about one task, in the dialect that its server speaks: that of 2026-07-28, or one of two in a session. */
import { isObject, type Json, relatedTask } from '../../protocol/index.ts'
import { type OwnRequests, type SenderProfile, ServerFault } from '../layer/ownRequests.ts'
import { readInputRequired } from '../questions/inputRequests.ts'
import { finalResult, invalidTask, isOver, readTask, readWholeTask, type Task } from './task.ts'

export interface TaskDialect {
  readonly taskId: string
  /** Reads the task with questions, result and error, as far as reading has no side effect on the server. */
  read(signal: AbortSignal): Promise<Task>
  /** Reads the task in order to follow it. In a session this may request the result, which lets the server push questions. */
  follow(signal: AbortSignal): Promise<Task>
  answer(inputResponses: Readonly<Record<string, Json>>, signal: AbortSignal): Promise<void>
  cancel(signal: AbortSignal): Promise<void>
}

/** Tasks of the revision 2026-07-28 (SEP-2663): `tasks/get` returns everything, `tasks/update` takes answers. */
export class ModernDialect implements TaskDialect {
  readonly taskId: string
  readonly #requests: OwnRequests
  readonly #sending: SenderProfile

  constructor(taskId: string, requests: OwnRequests, sending: SenderProfile) {
    this.taskId = taskId
    this.#requests = requests
    this.#sending = sending
  }

  async read(signal: AbortSignal): Promise<Task> {
    return readWholeTask(await this.#request('tasks/get', {}, signal), this.taskId)
  }

  follow(signal: AbortSignal): Promise<Task> {
    return this.read(signal)
  }

  async answer(inputResponses: Readonly<Record<string, Json>>, signal: AbortSignal): Promise<void> {
    await this.#request('tasks/update', { inputResponses }, signal)
  }

  async cancel(signal: AbortSignal): Promise<void> {
    await this.#request('tasks/cancel', {}, signal)
  }

  #request(method: string, params: Json, signal: AbortSignal): Promise<Json> {
    return this.#requests.request(method, { taskId: this.taskId, ...params }, this.#sending, signal)
  }
}

interface SessionDialectOptions {
  readonly requests: OwnRequests
  readonly sending: SenderProfile
  /** Whether both sides know `dev.pannier/rounds`: questions are then results, and not pushed. */
  readonly hasRounds: boolean
  /** Called when the next `follow` has more to tell. */
  readonly onChange: () => void
}

/** What `tasks/result` was answered with. */
type ResultPart = Pick<Task, 'inputRequests' | 'result' | 'error'>

/**
 * Tasks of a session. `tasks/get` returns the status and `tasks/result` everything else, in one of two ways:
 *
 * - SEP-2322, where both sides know `dev.pannier/rounds`: while input is required, `tasks/result` gives the questions at
 *   once, and `tasks/input_response` takes the answers;
 * - 2025-11-25 as published: `tasks/result` is answered when the task has ended. Meanwhile the questions come as requests
 *   on its stream, and the client answers them like other pushed questions.
 *
 * Only the answer shows which of the two it is. So `follow` sends `tasks/result` once, and polls with `tasks/get`
 * meanwhile.
 */
export class SessionDialect implements TaskDialect {
  readonly taskId: string
  readonly #options: SessionDialectOptions
  #last: Task | undefined
  /** The `tasks/result` under way. */
  #pending: Promise<ResultPart> | undefined
  /** The outcome after the answer, until `follow` has delivered it. */
  #settled: Promise<ResultPart> | undefined
  /** The task asked, and has no answer yet. */
  #isAsking = false

  constructor(taskId: string, options: SessionDialectOptions) {
    this.taskId = taskId
    this.#options = options
  }

  async read(signal: AbortSignal): Promise<Task> {
    const task = await this.#readStatus(signal)
    const hasMore = isOver(task) || (this.#options.hasRounds && task.status === 'input_required')
    return hasMore && task.status !== 'cancelled' ? whole(task, await errorAsResult(task, this.#result(signal))) : task
  }

  async follow(signal: AbortSignal): Promise<Task> {
    if (this.#settled !== undefined && this.#last !== undefined) return this.#withResult(this.#last, this.#settled)
    const task = await this.#readStatus(signal)
    this.#last = task
    if (task.status === 'working') this.#isAsking = false
    if (task.status === 'working' || task.status === 'cancelled' || this.#isAsking) return task
    const pending = this.#awaitResult(signal)
    return isOver(task) ? this.#withResult(task, pending) : task
  }

  async answer(inputResponses: Readonly<Record<string, Json>>, signal: AbortSignal): Promise<void> {
    const params = { inputResponses, _meta: relatedTask(this.taskId) }
    await this.#options.requests.request('tasks/input_response', params, this.#options.sending, signal)
    this.#isAsking = false
  }

  async cancel(signal: AbortSignal): Promise<void> {
    await this.#request('tasks/cancel', signal)
  }

  /** Requests the result, unless that is under way. It may take as long as the task. */
  #awaitResult(signal: AbortSignal): Promise<ResultPart> {
    if (this.#pending !== undefined) return this.#pending
    const pending = this.#result(signal)
    const settle = (): void => {
      this.#settled = pending
      this.#options.onChange()
    }
    this.#pending = pending
    pending.then(settle, settle)
    return pending
  }

  async #withResult(task: Task, pending: Promise<ResultPart>): Promise<Task> {
    try {
      const part = await errorAsResult(task, pending)
      this.#isAsking = Object.keys(part.inputRequests ?? {}).length > 0
      return whole(task, part)
    } catch (error) {
      // The server may leave the request unanswered for as long as the task works. It is then sent again.
      if (error instanceof ServerFault && error.isTimeout && !isOver(task)) return task
      throw error
    } finally {
      this.#pending = undefined
      this.#settled = undefined
    }
  }

  async #readStatus(signal: AbortSignal): Promise<Task> {
    return readTask(await this.#request('tasks/get', signal), this.taskId)
  }

  async #result(signal: AbortSignal): Promise<ResultPart> {
    return readResultPart(await this.#request('tasks/result', signal))
  }

  #request(method: string, signal: AbortSignal): Promise<Json> {
    return this.#options.requests.request(method, { taskId: this.taskId }, this.#options.sending, signal)
  }
}

function readResultPart(result: Json): ResultPart {
  const asks = result['resultType'] === 'input_required' || isObject(result['inputRequests'])
  if (!asks) return { result: finalResult(result) }
  return { inputRequests: Object.fromEntries(readInputRequired(result).questions) }
}

/** A failed task answers `tasks/result` with its error. With any other status an error is a failure of the request. */
async function errorAsResult({ status }: Task, pending: Promise<ResultPart>): Promise<ResultPart> {
  try {
    return await pending
  } catch (error) {
    if (status !== 'failed' || !(error instanceof ServerFault) || error.isTimeout) throw error
    const { code, message, data } = error
    return { error: { code, message, ...(data !== undefined && { data }) } }
  }
}

/** The task with its result part. That may be newer than the status, and the status message is then out of date. */
function whole(task: Task, part: ResultPart): Task {
  if (part.inputRequests !== undefined) {
    if (isOver(task)) throw invalidTask('it has ended and asks')
    return { ...task, status: 'input_required', ...part }
  }
  const { statusMessage: _, ...rest } = task
  return { ...(isOver(task) ? task : rest), status: part.error === undefined ? 'completed' : 'failed', ...part }
}
