/** Talking about one task with its server, in the dialect that the server speaks. */
import { isObject, type Json, relatedTask } from '../../protocol/index.ts'
import { type OwnRequests, type SenderProfile, ServerFault } from '../layer/ownRequests.ts'
import { readInputRequired } from '../questions/inputRequests.ts'
import { finalResult, invalid, isOver, readTask, readWholeTask, type Task } from './task.ts'

export interface TaskTalk {
  readonly taskId: string
  /** The task as it is now, with whatever can be told of it without any effect. */
  look(signal: AbortSignal): Promise<Task>
  /** The same for whoever follows it. In a session this may wait for the result, and bring about pushed questions. */
  follow(signal: AbortSignal): Promise<Task>
  answer(inputResponses: Readonly<Record<string, Json>>, signal: AbortSignal): Promise<void>
  cancel(signal: AbortSignal): Promise<void>
}

/** Tasks of the revision 2026-07-28 (SEP-2663): `tasks/get` tells everything, `tasks/update` takes answers. */

export class ModernTalk implements TaskTalk {
  readonly taskId: string
  readonly #wire: OwnRequests
  readonly #sending: SenderProfile

  constructor(taskId: string, wire: OwnRequests, sending: SenderProfile) {
    this.taskId = taskId
    this.#wire = wire
    this.#sending = sending
  }

  async look(signal: AbortSignal): Promise<Task> {
    return readWholeTask(await this.#request('tasks/get', {}, signal), this.taskId)
  }

  follow(signal: AbortSignal): Promise<Task> {
    return this.look(signal)
  }

  async answer(inputResponses: Readonly<Record<string, Json>>, signal: AbortSignal): Promise<void> {
    await this.#request('tasks/update', { inputResponses }, signal)
  }

  async cancel(signal: AbortSignal): Promise<void> {
    await this.#request('tasks/cancel', {}, signal)
  }

  #request(method: string, params: Json, signal: AbortSignal): Promise<Json> {
    return this.#wire.request(method, { taskId: this.taskId, ...params }, this.#sending, signal)
  }
}

/**
 * Tasks of a session. `tasks/get` tells how a task is, `tasks/result` the rest, in one of two ways:
 *
 * - SEP-2322, where both sides know `dev.pannier/rounds`: while input is required it gives the questions at once, and
 *   `tasks/input_response` takes the answers;
 * - 2025-11-25 as published: it answers when the task has ended. The questions come meanwhile, as requests on its
 *   stream, and the client answers them like any other.
 *
 * Which of the two it is shows by what comes. So following asks for the result once, and goes on looking meanwhile.
 */

interface SessionTalkOptions {
  readonly wire: OwnRequests
  readonly sending: SenderProfile
  /** Whether both sides know `dev.pannier/rounds`: questions are then results, and not pushed. */
  readonly hasRounds: boolean
  /** Called when there is more to tell than at the last look. */
  readonly onNews: () => void
}

/** What `tasks/result` came to. */
type Told = Pick<Task, 'inputRequests' | 'result' | 'error'>

export class SessionTalk implements TaskTalk {
  readonly taskId: string
  readonly #options: SessionTalkOptions
  #last: Task | undefined
  /** A `tasks/result` that is under way, or was answered and not told yet. */
  #waiting: Promise<Told> | undefined
  #told: Promise<Told> | undefined
  /** It asked, and has no answer yet. */
  #isAsked = false

  constructor(taskId: string, options: SessionTalkOptions) {
    this.taskId = taskId
    this.#options = options
  }

  async look(signal: AbortSignal): Promise<Task> {
    const task = await this.#get(signal)
    const tellsMore = isOver(task) || (this.#options.hasRounds && task.status === 'input_required')
    return tellsMore && task.status !== 'cancelled' ? whole(task, await failing(task, this.#result(signal))) : task
  }

  async follow(signal: AbortSignal): Promise<Task> {
    if (this.#told !== undefined && this.#last !== undefined) return this.#tell(this.#last, this.#told)
    const task = await this.#get(signal)
    this.#last = task
    if (task.status === 'working') this.#isAsked = false
    if (task.status === 'working' || task.status === 'cancelled' || this.#isAsked) return task
    const waiting = this.#wait(signal)
    return isOver(task) ? this.#tell(task, waiting) : task
  }

  async answer(inputResponses: Readonly<Record<string, Json>>, signal: AbortSignal): Promise<void> {
    const params = { inputResponses, _meta: relatedTask(this.taskId) }
    await this.#options.wire.request('tasks/input_response', params, this.#options.sending, signal)
    this.#isAsked = false
  }

  async cancel(signal: AbortSignal): Promise<void> {
    await this.#request('tasks/cancel', signal)
  }

  /** For the result, which may take as long as the task. */
  #wait(signal: AbortSignal): Promise<Told> {
    if (this.#waiting !== undefined) return this.#waiting
    const waiting = this.#result(signal)
    const heard = (): void => {
      this.#told = waiting
      this.#options.onNews()
    }
    this.#waiting = waiting
    waiting.then(heard, heard)
    return waiting
  }

  async #tell(task: Task, waiting: Promise<Told>): Promise<Task> {
    try {
      const told = await failing(task, waiting)
      this.#isAsked = told.inputRequests !== undefined
      return whole(task, told)
    } catch (error) {
      // A server may be silent for as long as the task works. That is looked at, and the result asked for again.
      if (error instanceof ServerFault && error.isTimeout && !isOver(task)) return task
      throw error
    } finally {
      this.#waiting = undefined
      this.#told = undefined
    }
  }

  async #get(signal: AbortSignal): Promise<Task> {
    return readTask(await this.#request('tasks/get', signal), this.taskId)
  }

  async #result(signal: AbortSignal): Promise<Told> {
    return toldIn(await this.#request('tasks/result', signal))
  }

  #request(method: string, signal: AbortSignal): Promise<Json> {
    return this.#options.wire.request(method, { taskId: this.taskId }, this.#options.sending, signal)
  }
}

function toldIn(result: Json): Told {
  const asks = result['resultType'] === 'input_required' || isObject(result['inputRequests'])
  if (!asks) return { result: finalResult(result) }
  return { inputRequests: Object.fromEntries(readInputRequired(result).questions) }
}

/** An error in place of the result is what a failed task came to. Of any other task it tells nothing. */
async function failing({ status }: Task, waiting: Promise<Told>): Promise<Told> {
  try {
    return await waiting
  } catch (error) {
    if (status !== 'failed' || !(error instanceof ServerFault) || error.isTimeout) throw error
    const { code, message, data } = error
    return { error: { code, message, ...(data !== undefined && { data }) } }
  }
}

/** The task and what was told of it, which may be newer; then what was said about it before counts no more. */
function whole(task: Task, told: Told): Task {
  if (told.inputRequests !== undefined) {
    if (isOver(task)) throw invalid('it has ended and asks')
    return { ...task, status: 'input_required', ...told }
  }
  const { statusMessage: _, ...rest } = task
  return { ...(isOver(task) ? task : rest), status: told.error === undefined ? 'completed' : 'failed', ...told }
}
