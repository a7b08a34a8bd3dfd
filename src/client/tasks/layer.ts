/**
 * Tasks for a client that need not know them. A call that becomes a task stays open for its caller while this layer
 * follows the task, answers what it asks, and in the end gives its result, whichever dialect the server speaks
 * (`dialects.ts`).
 */
import {
  assertOptionNames,
  DAY_MS,
  isObject,
  type OptionNames,
  readRelatedTask,
  type RequestId,
  TASKS_EXTENSION,
  timerMs,
} from '../../protocol/index.ts'
import type { SavedPlace } from '../config/savedPlace.ts'
import { ClientError } from '../errors.ts'
import { type Declare, declaring, extended } from '../layer/capabilities.ts'
import { createLayer, type LayerContext, type LayerHandlers } from '../layer/layer.ts'
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
import { isOwnId, OwnRequests, senderProfileOf } from '../layer/ownRequests.ts'
import type { Layer, SendOptions, WireMessage } from '../layer/transport.ts'
import type { Answerers, AskedCall } from '../questions/answerer.ts'
import { Dispatcher } from '../questions/dispatcher.ts'
import { readInputRequest } from '../questions/inputRequests.ts'
import { withAllKinds, withAnswerers } from '../questions/kinds.ts'
import { DEFAULT_MAX_ROUNDS } from '../questions/limits.ts'
import { PushedQuestions } from '../questions/pushed.ts'
import { TaskCall } from './call.ts'
import { UnansweredCalls } from './unansweredCalls.ts'
import { isControlRequest, runControlRequest } from './requests.ts'
import { TaskFollower } from './follower.ts'
import { PATIENCE_MS } from './schedule.ts'
import { TaskServer, TaskTools } from './server.ts'
import type { Task } from './task.ts'

export interface TasksOptions {
  /** Who answers what tasks ask. Give the same to `rounds`, above this layer. @default nobody */
  answerers?: Answerers
  /** Answers a call with the handle of its task, to be read with `taskOf`. @default false, the task is followed */
  handle?: boolean
  /** In a session, also requests tasks for tools that support both calls and tasks. @default false */
  optional?: boolean
  /** How long a task may live, as asked of servers in a session, in milliseconds. @default 86400000, a day */
  ttlMs?: number
  /** How long a task is followed, in milliseconds; then the call fails, and the task continues. @default 86400000, a day */
  patienceMs?: number
  /** How often one task may ask before its call fails. @default 100 */
  maxRounds?: number
  /** Called with each change of a task's status or status message. */
  onStatus?: (task: Task, call: AskedCall) => void
  /** Who asks, for the answerers. @default the name the server gives itself, and no target */
  server?: { readonly name?: string | undefined; readonly target?: string | undefined }
  /** Where a suspended call finds the server again, by `placeOf(target)`. @default the server's `target` */
  place?: SavedPlace
}

const TASKS_OPTIONS: OptionNames<TasksOptions> = {
  answerers: true,
  handle: true,
  optional: true,
  ttlMs: true,
  patienceMs: true,
  maxRounds: true,
  onStatus: true,
  server: true,
  place: true,
}

/** A layer that follows calls that become tasks, and answers what these ask. */
export function tasks(options: TasksOptions = {}): Layer {
  assertOptionNames(options, TASKS_OPTIONS, 'tasks()')
  return (transport) => createLayer(transport, (context) => new TasksLayer(context, transport, options))
}

class TasksLayer implements LayerHandlers {
  readonly #context: LayerContext
  readonly #declare: Declare
  readonly #requests: OwnRequests
  readonly #server = new TaskServer()
  readonly #tools: TaskTools
  readonly #dispatcher: Dispatcher
  readonly #follower: TaskFollower
  readonly #calls: UnansweredCalls
  readonly #pushed: PushedQuestions
  readonly #asking: { readonly optional: boolean; readonly ttlMs: number }
  /** The ids of `tools/list` requests under way. */
  readonly #lists = new Set<RequestId>()

  constructor(context: LayerContext, transport: object, options: TasksOptions) {
    const { answerers = {}, handle = false, optional = false, onStatus, place } = options
    this.#context = context
    this.#declare = declaring((capabilities) =>
      extended(withAnswerers(capabilities, answerers), 'extensions', { [TASKS_EXTENSION]: {} }),
    )
    this.#requests = new OwnRequests(context, connectionClosed)
    this.#tools = new TaskTools(this.#requests)
    this.#dispatcher = new Dispatcher({ answerers, server: options.server })
    this.#pushed = new PushedQuestions(this.#dispatcher, transport)
    this.#asking = { optional, ttlMs: options.ttlMs ?? DAY_MS }
    const { maxRounds = DEFAULT_MAX_ROUNDS } = options
    const patienceMs = timerMs(options.patienceMs ?? PATIENCE_MS, '"patienceMs"')
    const parts = { context, requests: this.#requests, server: this.#server, dispatcher: this.#dispatcher }
    this.#follower = new TaskFollower({ ...parts, maxRounds, patienceMs, onStatus, place })
    this.#calls = new UnansweredCalls(context, this.#follower, handle)
  }

  send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    if (isRequest(message)) return this.#request(this.#declare(message) as WireRequest, options)
    if (isResponse(message) && this.#dispatcher.take(message)) return Promise.resolve()
    const cancelled = cancelledId(message)
    if (cancelled === undefined) return this.#context.send(message, options)
    this.#lists.delete(idKey(cancelled))
    return this.#calls.cancel(cancelled, message, options)
  }

  receive(message: WireMessage, extra: unknown): void {
    if (isResponse(message)) return this.#answered(message, extra)
    if (isRequest(message)) return this.#asked(message, extra)
    if (this.#notified(message)) this.#context.deliver(message, extra)
  }

  closed(isLost: boolean): void {
    this.#calls.end()
    this.#follower.end(isLost)
    this.#requests.rejectAll()
    this.#pushed.cancelAll()
    this.#lists.clear()
  }

  #request(message: WireRequest, options: SendOptions | undefined): Promise<void> {
    switch (message.method) {
      case 'tools/call':
        return this.#call(new TaskCall(message, options))
      case 'tools/list':
        if (this.#server.takesTasks) this.#lists.add(idKey(message.id))
        break
      case 'initialize':
      case 'server/discover':
        this.#server.clientGreets(message)
        this.#dispatcher.clientDeclares(paramsOf(message)['capabilities'])
        break
      default:
        if (isControlRequest(message)) return this.#control(message, options)
    }
    return this.#context.send(message, options)
  }

  #call(call: TaskCall): Promise<void> {
    const mayAsk = this.#server.takesTasks && call.params['task'] === undefined && call.ticket === undefined
    return mayAsk ? this.#callInSession(call) : this.#calls.begin(call, call.request)
  }

  /** In a session the call itself asks to become a task. */
  async #callInSession(call: TaskCall): Promise<void> {
    this.#calls.expect(call)
    const support = await this.#calls.prepared(call, this.#tools.support(String(call.params['name']), call.sending))
    if (call.isOver) return
    call.asksForTask = support === 'required' || (support === 'optional' && this.#asking.optional)
    const params = { ...call.params, task: { ttl: this.#asking.ttlMs } }
    await this.#calls.begin(call, call.asksForTask ? withParams(call.request, params) : call.request)
  }

  #answered(message: WireResponse, extra: unknown): void {
    if (isOwnId(message.id)) return this.#requests.receive(message)
    const { result } = message
    if (this.#server.serverAnswers(message)) this.#dispatcher.serverAnswers(result)
    const isList = this.#lists.size > 0 && this.#lists.delete(idKey(message.id)) && isObject(result)
    if (isList) this.#context.deliver({ ...message, result: this.#tools.learn(result) }, extra)
    else this.#calls.answered(message, extra)
  }

  /** A session-era server pushes a question. Those about tasks that are followed here are answered, others pass. */
  #asked(message: WireRequest, extra: unknown): void {
    const request = readInputRequest(message)
    const call = this.#follower.callOf(readRelatedTask(metaIn(paramsOf(message))))
    const isOurs = request !== undefined && call !== undefined && this.#dispatcher.hasAnswerer(request)
    if (isOurs) void this.#pushed.answer(message, request, [call], this.#context)
    else this.#context.deliver(message, extra)
  }

  /** Handles a notification. Whether it also goes to the client. */
  #notified(message: WireMessage): boolean {
    switch (message.method) {
      case 'notifications/progress':
        this.#calls.progressed(paramsOf(message))
        return true
      case 'notifications/tasks/status': {
        const { taskId } = paramsOf(message)
        this.#follower.callOf(typeof taskId === 'string' ? taskId : undefined)?.poller?.pollNow()
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

  async #control(message: WireRequest, options: SendOptions | undefined): Promise<void> {
    const { taskId } = paramsOf(message)
    const sending = senderProfileOf(declareAllKinds(message) as WireRequest, options)
    const dialect = this.#follower.dialectFor(String(taskId), sending, () => undefined)
    this.#context.deliver(await runControlRequest(message, dialect, new AbortController().signal))
  }
}

/** A reader of a task by its id sees all its questions, and may answer them without an answerer. */
const declareAllKinds = declaring(withAllKinds)

function connectionClosed(): ClientError {
  return new ClientError('TASK_UNREACHABLE', 'The connection was closed while a task was followed; the task continues.')
}
