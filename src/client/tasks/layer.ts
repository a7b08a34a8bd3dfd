/**
 * Tasks for a client that need not know of them. A call that becomes a task stays open for its caller while this layer
 * follows the task, answers what it asks, and in the end gives its result, whichever dialect the server speaks: that of
 * 2026-07-28 (`modernTalk.ts`), or one of the two in a session (`sessionTalk.ts`).
 */
import { ClientError } from '../errors.ts'
import { isObject, readRelatedTask, type RequestId, TASKS_EXTENSION } from '../../protocol/index.ts'
import type { Answerers, AskedCall } from '../questions/answerer.ts'
import { createLayer, type LayerContext, type LayerHandlers } from '../layer/layer.ts'
import { type Declare, declaring, extended } from '../layer/capabilities.ts'
import { type ConnectionQuestions, questionsOf } from '../questions/connection.ts'
import type { Dispatcher } from '../questions/dispatcher.ts'
import { readInputRequest } from '../questions/inputRequests.ts'
import { withAnswerers } from '../questions/kinds.ts'
import { DEFAULT_MAX_ROUNDS } from '../questions/limits.ts'
import type { PushedQuestions } from '../questions/pushed.ts'
import type { SavedPlace } from '../config/savedPlace.ts'
import type { Task } from './task.ts'
import { TaskCall } from './call.ts'
import { TaskCalls } from './calls.ts'
import { isErrand, runErrand } from './controlRequest.ts'
import { TaskFollower } from './follower.ts'
import { TaskPeer, TaskTools } from './server.ts'
import { isOwnId, senderProfileOf, OwnRequests } from '../layer/ownRequests.ts'
import { timerMs } from '../timerMs.ts'
import type { Layer, SendOptions, WireMessage } from '../layer/transport.ts'
import {
  cancelledId,
  idKey,
  isResponse,
  isRequest,
  metaIn,
  paramsOf,
  type WireResponse,
  type WireRequest,
  withParams,
} from '../layer/message.ts'

export interface TasksOptions {
  /** Who answers what tasks ask. Give the same to `rounds`, above this layer. @default nobody */
  answerers?: Answerers
  /** Gives the handle of a task in place of its result, to be found with `taskOf`. @default false, it is followed */
  handle?: boolean
  /** In a session, also makes tasks of tools that can be called either way. @default false */
  optional?: boolean
  /** How long a task may live, as asked of servers in a session, in milliseconds. @default 86400000, a day */
  ttlMs?: number
  /** How long one task is followed, in milliseconds; then its call fails, and it goes on. @default 86400000, a day */
  patienceMs?: number
  /** How often one task may ask before its call fails. @default 100 */
  maxRounds?: number
  /** Hears changes from the server where it tells them; else tasks are only looked at. @default true */
  listen?: boolean
  /** Hears each change of a task's status, and of what the server says about it. */
  onStatus?: (task: Task, call: AskedCall) => void
  /** Who asks, for the answerers. @default the name the server gives itself, and no target */
  server?: { readonly name?: string | undefined; readonly target?: string | undefined }
  /** Where a call that is put to sleep finds the server again, by `placeOf(target)`. @default the server's `target` */
  place?: SavedPlace
}

const DAY_MS = 86_400_000

export function tasks(options: TasksOptions = {}): Layer {
  const { answerers = {}, server } = options
  return (transport) => {
    const questions = questionsOf(transport, 'tasks', { answerers, server })
    return createLayer(transport, (ends) => new TasksLayer(ends, questions, options))
  }
}

class TasksLayer implements LayerHandlers {
  readonly #ends: LayerContext
  readonly #declare: Declare
  readonly #wire: OwnRequests
  readonly #peer = new TaskPeer()
  readonly #tools: TaskTools
  readonly #dispatcher: Dispatcher
  readonly #follower: TaskFollower
  readonly #calls: TaskCalls
  readonly #pushed: PushedQuestions
  readonly #asksFor: { readonly optional: boolean; readonly ttlMs: number }
  /** Requests for lists of tools. */
  readonly #lists = new Set<RequestId>()

  constructor(ends: LayerContext, { dispatcher, pushed }: ConnectionQuestions, options: TasksOptions) {
    const { answerers = {}, handle = false, optional = false, listen = true, onStatus, place } = options
    this.#ends = ends
    this.#declare = declaring((capabilities) =>
      extended(withAnswerers(capabilities, answerers), 'extensions', { [TASKS_EXTENSION]: {} }),
    )
    this.#wire = new OwnRequests(ends, connectionClosed)
    this.#tools = new TaskTools(this.#wire)
    this.#dispatcher = dispatcher
    this.#pushed = pushed
    this.#asksFor = { optional, ttlMs: options.ttlMs ?? DAY_MS }
    const { maxRounds = DEFAULT_MAX_ROUNDS.task } = options
    const patienceMs = timerMs(options.patienceMs ?? DAY_MS, '"patienceMs"')
    const parts = { ends, wire: this.#wire, peer: this.#peer, dispatcher: this.#dispatcher }
    this.#follower = new TaskFollower({ ...parts, listen, maxRounds, patienceMs, onStatus, place })
    this.#calls = new TaskCalls(ends, this.#follower, handle)
  }

  send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    if (isRequest(message)) return this.#request(this.#declare(message) as WireRequest, options)
    if (isResponse(message) && this.#dispatcher.take(message)) return Promise.resolve()
    const cancelled = cancelledId(message)
    if (cancelled === undefined) return this.#ends.send(message, options)
    this.#lists.delete(idKey(cancelled))
    return this.#calls.cancel(cancelled, message, options)
  }

  receive(message: WireMessage, extra: unknown): void {
    if (isResponse(message)) return this.#answered(message, extra)
    if (isRequest(message)) return this.#asked(message, extra)
    if (this.#noticed(message)) this.#ends.deliver(message, extra)
  }

  closed(isLost: boolean): void {
    this.#calls.end()
    this.#follower.end(isLost)
    this.#wire.rejectAll()
    this.#pushed.cancelAll()
    this.#lists.clear()
  }

  #request(message: WireRequest, options: SendOptions | undefined): Promise<void> {
    switch (message.method) {
      case 'tools/call':
        return this.#call(new TaskCall(message, options))
      case 'tools/list':
        if (this.#peer.takesTasks) this.#lists.add(idKey(message.id))
        break
      case 'initialize':
      case 'server/discover':
        this.#peer.greet(message)
        this.#dispatcher.clientDeclares(paramsOf(message)['capabilities'])
        break
      default:
        if (isErrand(message)) return this.#errand(message, options)
    }
    return this.#ends.send(message, options)
  }

  #call(call: TaskCall): Promise<void> {
    const mayAsk = this.#peer.takesTasks && call.params['task'] === undefined && call.ticket === undefined
    return mayAsk ? this.#callInSession(call) : this.#calls.begin(call, call.request)
  }

  /** In a session it is the call that asks to become a task. */
  async #callInSession(call: TaskCall): Promise<void> {
    this.#calls.expect(call)
    const support = await this.#tools.support(String(call.params['name']), call.sending)
    if (call.isOver) return
    call.asksForTask = support === 'required' || (support === 'optional' && this.#asksFor.optional)
    const asking = { ...call.params, task: { ttl: this.#asksFor.ttlMs } }
    await this.#calls.begin(call, call.asksForTask ? withParams(call.request, asking) : call.request)
  }

  #answered(message: WireResponse, extra: unknown): void {
    if (isOwnId(message.id)) {
      if (!this.#follower.takes(message)) this.#wire.receive(message)
      return
    }
    const { result } = message
    if (this.#peer.hear(message)) this.#dispatcher.serverAnswers(result)
    const isList = this.#lists.size > 0 && this.#lists.delete(idKey(message.id)) && isObject(result)
    if (isList) this.#ends.deliver({ ...message, result: this.#tools.learn(result) }, extra)
    else this.#calls.answered(message, extra)
  }

  /** A question that a session-era server pushes for a task of ours. All others are none of our business. */
  #asked(message: WireRequest, extra: unknown): void {
    const request = readInputRequest(message)
    const call = this.#follower.callOf(readRelatedTask(metaIn(paramsOf(message))))
    const isOurs = request !== undefined && call !== undefined && this.#dispatcher.hasAnswerer(request)
    if (isOurs) void this.#pushed.answer(message, request, [call], this.#ends)
    else this.#ends.deliver(message, extra)
  }

  /** Whether the client should hear of it, too. */
  #noticed(message: WireMessage): boolean {
    switch (message.method) {
      case 'notifications/progress':
        this.#calls.progressed(paramsOf(message))
        return true
      case 'notifications/tasks':
      case 'notifications/subscriptions/acknowledged':
        return !this.#follower.takes(message)
      case 'notifications/tasks/status': {
        const { taskId } = paramsOf(message)
        this.#follower.callOf(typeof taskId === 'string' ? taskId : undefined)?.following?.nudge()
        return true
      }
      case 'notifications/tools/list_changed':
        this.#tools.forget()
        return true
      default: {
        const cancelled = cancelledId(message)
        return cancelled === undefined || !this.#pushed.cancel(cancelled)
      }
    }
  }

  async #errand(message: WireRequest, options: SendOptions | undefined): Promise<void> {
    const { taskId } = paramsOf(message)
    const talk = this.#follower.talk(String(taskId), senderProfileOf(message, options), () => undefined)
    this.#ends.deliver(await runErrand(message, talk, new AbortController().signal))
  }
}

function connectionClosed(): ClientError {
  return new ClientError('TASK_UNREACHABLE', 'The connection was closed while a task was followed; the task goes on.')
}
