/**
 * The calls of tools on one transport, until they are answered or become tasks.
 *
 * - The caller gets one answer: the server's, the result of the task, its error, or why it is not followed further.
 * - To give up a call cancels its task; to give up looking on does not. A connection that ends cancels nothing.
 */
import { isObject, type Json, type RequestId } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import type { LayerContext } from '../layer/layer.ts'
import { idKey, isRequestId, requestSignalIn, resultMessage, type WireResponse } from '../layer/message.ts'
import type { SendOptions, WireMessage } from '../layer/transport.ts'
import type { TaskCall } from './call.ts'
import { taskFailure } from './failure.ts'
import type { TaskFollower } from './follower.ts'
import { handleResult, readTicket } from './handle.ts'
import { invalid, readTask } from './task.ts'

/** More calls that were cancelled and never answered are not remembered. */
const MAX_GIVEN_UP = 100

export class TaskCalls {
  readonly #ends: LayerContext
  readonly #follower: TaskFollower
  /** Whether callers want the handles of their tasks. */
  readonly #handle: boolean
  /** Not answered yet, by id. */
  readonly #sent = new Map<RequestId, TaskCall>()
  /** Cancelled before they were answered. One may have become a task all the same. */
  readonly #givenUp = new Map<RequestId, TaskCall>()

  constructor(ends: LayerContext, follower: TaskFollower, handle: boolean) {
    this.#ends = ends
    this.#follower = follower
    this.#handle = handle
  }

  /** A call that will be sent, unless it is cancelled before. */
  expect(call: TaskCall): void {
    this.#sent.set(call.key, call)
  }

  /** Sends a call as it is to go out, or goes on with the task that it names. */
  async begin(call: TaskCall, request: WireMessage): Promise<void> {
    const { ticket } = call
    if (ticket !== undefined) {
      this.#follower.follow(call, ticket.taskId, undefined)
      return this.#watch(call)
    }
    this.expect(call)
    try {
      await this.#ends.send(request, call.options)
    } catch (error) {
      this.#sent.delete(call.key)
      throw error
    }
    if (!call.isOver) this.#watch(call)
  }

  answered(message: WireResponse, extra: unknown): void {
    const { id, result } = message
    const call = this.#sent.get(idKey(id)) ?? this.#givenUp.get(idKey(id))
    if (call === undefined) return this.#ends.deliver(isCreated(result) ? taskFailure(id, strayTask()) : message, extra)
    this.#sent.delete(call.key)
    if (this.#givenUp.size > 0) this.#givenUp.delete(call.key)
    const created = createdBy(result, call.asksForTask)
    if (created !== undefined) return this.#created(call, created)
    call.end()
    const problem = problemIn(result)
    this.#ends.deliver(problem === undefined ? message : taskFailure(id, problem), extra)
  }

  /** Progress that the server tells of a call. */
  progressed({ progressToken, progress }: Json): void {
    // The SDKs, and `rounds`, take the id of a request for the token of its progress.
    if (isRequestId(progressToken)) this.#sent.get(idKey(progressToken))?.heardProgress(progress)
  }

  /** The caller cancels. Where there is no task yet, the server is told so as ever. */
  async cancel(id: RequestId, message: WireMessage, options: SendOptions | undefined): Promise<void> {
    if (this.#follower.giveUp(id)) return
    const call = this.#sent.get(idKey(id))
    if (call !== undefined) this.#forget(call)
    await this.#ends.send(message, options)
  }

  end(): void {
    for (const call of this.#sent.values()) call.end()
    this.#sent.clear()
    this.#givenUp.clear()
  }

  #created(call: TaskCall, created: unknown): void {
    try {
      const task = readTask(created)
      // Its caller gave it up while it was made.
      if (call.isOver) this.#follower.cancel(this.#follower.talk(task.taskId, call.sending, () => undefined))
      else if (this.#handle) this.#answer(call, resultMessage(call.id, handleResult(created)))
      else this.#follower.follow(call, task.taskId, task)
    } catch (error) {
      this.#answer(call, taskFailure(call.id, error))
    }
  }

  #answer(call: TaskCall, message: WireMessage): void {
    if (call.isOver) return
    call.end()
    this.#ends.deliver(message)
  }

  /** Until it is sent, the transport tells by failing that its caller gave it up; and then it may be over already. */
  #watch(call: TaskCall): void {
    const signal = requestSignalIn(call.options)
    if (signal === undefined) return
    const giveUp = (): void => {
      if (!call.isOver && !this.#follower.giveUp(call.id)) this.#forget(call)
    }
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
  }

  /** Nobody waits for its answer any more, which may come or not. */
  #forget(call: TaskCall): void {
    call.end()
    this.#sent.delete(call.key)
    this.#givenUp.set(call.key, call)
    const [oldest = call.key] = this.#givenUp.keys()
    if (this.#givenUp.size > MAX_GIVEN_UP) this.#givenUp.delete(oldest)
  }
}

/** Telling from an answer whether a call became a task. */

/** A task in place of a result, as the revision 2026-07-28 has it. */
function isCreated(result: unknown): boolean {
  return isObject(result) && result['resultType'] === 'task'
}

/** The task that a call was answered with; in a session only one that it asked for. */
function createdBy(result: unknown, asksForTask: boolean): unknown {
  if (isCreated(result)) return result
  return asksForTask && isObject(result) && isObject(result['task']) ? result['task'] : undefined
}

/** Why an answer that is no task cannot be given to the caller either. */
function problemIn(result: unknown): ClientError | undefined {
  const isForged = isObject(result) && readTicket(result['requestState']) !== undefined
  if (!isForged) return undefined
  const sentence = 'The server asked for input in a way that cannot be read: its state is one of this client.'
  return new ClientError('INPUT_INVALID', sentence)
}

/** SEP-2663: only a call of a tool becomes a task. */
function strayTask(): ClientError {
  return invalid('it came in place of a result that is never a task')
}
