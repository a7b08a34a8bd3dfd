/**
 * The `tools/call` requests of one transport, until they are answered or become tasks.
 *
 * - The caller gets one answer: the server's, the result or the error of the task, or why the task is not followed.
 * - Giving up a call cancels its task; giving up watching a task does not. The end of the connection cancels nothing.
 */
import { isObject, type Json, type RequestId } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import type { LayerContext } from '../layer/layer.ts'
import { idKey, isRequestId, resultMessage, type WireResponse } from '../layer/message.ts'
import type { SendOptions, WireMessage } from '../layer/transport.ts'
import type { TaskCall } from './call.ts'
import { taskFailure, invalidTask, readTask } from './task.ts'
import type { TaskFollower } from './follower.ts'
import { handleResult, readTicket } from './handle.ts'

/** How many cancelled calls are remembered that have no answer yet. */
const MAX_GIVEN_UP = 100

export class UnansweredCalls {
  readonly #context: LayerContext
  readonly #follower: TaskFollower
  /** Whether callers get the handles of their tasks in place of the results. */
  readonly #handle: boolean
  /** The calls without an answer, by id. */
  readonly #sent = new Map<RequestId, TaskCall>()
  /** Calls that were cancelled before they were answered. Such a call may still have become a task. */
  readonly #givenUp = new Map<RequestId, TaskCall>()

  constructor(context: LayerContext, follower: TaskFollower, handle: boolean) {
    this.#context = context
    this.#follower = follower
    this.#handle = handle
  }

  /** Registers a call before it is sent, so that it can be cancelled. */
  expect(call: TaskCall): void {
    this.#sent.set(call.key, call)
  }

  /** Sends a call as `request`, or continues with the task of its ticket. */
  async begin(call: TaskCall, request: WireMessage): Promise<void> {
    const { ticket } = call
    const giveUp = (): void => {
      if (!this.#follower.giveUp(call.id)) this.#forget(call)
    }
    if (ticket !== undefined) {
      this.#follower.follow(call, ticket.taskId, undefined)
      return call.watchCaller(giveUp)
    }
    this.expect(call)
    await this.prepared(call, this.#context.send(request, call.options))
    call.watchCaller(giveUp)
  }

  /** Waits for the conditions under which a call counts as sent. If that fails, the call is over. */
  async prepared<T>(call: TaskCall, needed: Promise<T>): Promise<T> {
    try {
      return await needed
    } catch (error) {
      this.#sent.delete(call.key)
      throw error
    }
  }

  answered(message: WireResponse, extra: unknown): void {
    const { id, result } = message
    const call = this.#sent.get(idKey(id)) ?? this.#givenUp.get(idKey(id))
    if (call === undefined)
      return this.#context.deliver(isCreated(result) ? taskFailure(id, strayTask()) : message, extra)
    this.#sent.delete(call.key)
    this.#givenUp.delete(call.key)
    const created = createdBy(result, call.asksForTask)
    if (created !== undefined) return this.#created(call, created)
    call.end()
    const problem = forgedTicket(result)
    this.#context.deliver(problem === undefined ? message : taskFailure(id, problem), extra)
  }

  /** The server's own progress notification for a call. */
  progressed({ progressToken, progress }: Json): void {
    // The SDKs and `rounds` use the id of a request as its progress token.
    if (isRequestId(progressToken)) this.#sent.get(idKey(progressToken))?.serverProgressed(progress)
  }

  /** The caller cancels. If there is no task yet, the server gets the notification. */
  async cancel(id: RequestId, message: WireMessage, options: SendOptions | undefined): Promise<void> {
    if (this.#follower.giveUp(id)) return
    const call = this.#sent.get(idKey(id))
    if (call !== undefined) this.#forget(call)
    await this.#context.send(message, options)
  }

  end(): void {
    for (const call of this.#sent.values()) call.end()
    this.#sent.clear()
    this.#givenUp.clear()
  }

  #created(call: TaskCall, created: unknown): void {
    try {
      const task = readTask(created)
      // The caller gave the call up while the server created the task.
      if (call.isOver) this.#follower.cancel(this.#follower.dialectFor(task.taskId, call.sending, () => undefined))
      else if (this.#handle) this.#answer(call, resultMessage(call.id, handleResult(created)))
      else this.#follower.follow(call, task.taskId, task)
    } catch (error) {
      this.#answer(call, taskFailure(call.id, error))
    }
  }

  #answer(call: TaskCall, message: WireMessage): void {
    if (call.isOver) return
    call.end()
    this.#context.deliver(message)
  }

  /** The caller no longer wants an answer. One may still arrive, with a task that must be cancelled. */
  #forget(call: TaskCall): void {
    call.end()
    this.#sent.delete(call.key)
    this.#givenUp.set(call.key, call)
    const [oldest = call.key] = this.#givenUp.keys()
    if (this.#givenUp.size > MAX_GIVEN_UP) this.#givenUp.delete(oldest)
  }
}

/** Whether a result is a task, as in the revision 2026-07-28. */
function isCreated(result: unknown): boolean {
  return isObject(result) && result['resultType'] === 'task'
}

/** The task that a call was answered with. In a session only a call that asked for a task becomes one. */
function createdBy(result: unknown, asksForTask: boolean): unknown {
  if (isCreated(result)) return result
  return asksForTask && isObject(result) && isObject(result['task']) ? result['task'] : undefined
}

/** The error for a server that sends a ticket, which only this client makes. */
function forgedTicket(result: unknown): ClientError | undefined {
  const isForged = isObject(result) && readTicket(result['requestState']) !== undefined
  if (!isForged) return undefined
  const sentence = 'The server asked for input in a way that cannot be read: its state is one of this client.'
  return new ClientError('INPUT_INVALID', sentence)
}

/** SEP-2663: only `tools/call` becomes a task. */
function strayTask(): ClientError {
  return invalidTask('it came in place of a result that is never a task')
}
