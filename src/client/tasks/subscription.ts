/**
 * Notifications of tasks, in the revision 2026-07-28: one `subscriptions/listen` for all tasks that are followed. When
 * tasks are added, a new stream is opened, and the old one is closed once the new one is acknowledged. A server without
 * subscriptions to tasks is asked once; from then on its tasks are polled.
 */
import { backoffMs, CODES, isObject, type Json, META } from '../../protocol/index.ts'
import type { LayerContext } from '../layer/layer.ts'
import { metaIn, paramsOf } from '../layer/message.ts'
import { httpStatusOf, isOwnId, optionsFor, ownId, type SenderProfile, withEnvelope } from '../layer/ownRequests.ts'
import type { WireMessage } from '../layer/transport.ts'
import { readWholeTask, type Task } from './task.ts'

export interface TaskListener {
  /** The task as a notification has it. */
  pushed(task: Task): void
  /** The subscription began or ended, or a notification was unreadable: the listener should poll the task. */
  pollNow(): void
}

interface Stream {
  readonly id: string
  readonly sending: SenderProfile
  readonly abort: AbortController
}

/** Tasks that begin within this time share one request. */
const GATHER_MS = 20
/** The pauses before a stream that ended is opened again. */
const RENEWAL = { firstMs: 1_000, maxMs: 30_000 }
/** How many tasks one request subscribes to. Further tasks are polled. */
const MAX_TASKS = 500

export class TaskSubscription {
  readonly #context: LayerContext
  readonly #listeners = new Map<string, Set<TaskListener>>()
  #streams: Stream[] = []
  /** The tasks that the server agreed to notify of. */
  #agreed: ReadonlySet<unknown> = new Set()
  #sending: SenderProfile | undefined
  #isRefused = false
  #timer: NodeJS.Timeout | undefined
  /** How often in a row the last stream ended without having been acknowledged. */
  #failures = 0

  constructor(context: LayerContext) {
    this.#context = context
  }

  listen(taskId: string, listener: TaskListener, sending: SenderProfile): void {
    const others = this.#listeners.get(taskId)
    this.#listeners.set(taskId, (others ?? new Set()).add(listener))
    this.#sending = sending
    if (!this.#isRefused && others === undefined) this.#renewIn(GATHER_MS)
  }

  leave(taskId: string, listener: TaskListener): void {
    const listeners = this.#listeners.get(taskId)
    listeners?.delete(listener)
    if (listeners?.size === 0) this.#listeners.delete(taskId)
    if (this.#listeners.size === 0) this.stop()
  }

  isSubscribed(taskId: string): boolean {
    return this.#agreed.has(taskId)
  }

  /** Whether a message belongs to one of these streams, and not to the client. */
  takes(message: WireMessage): boolean {
    if (message.method === undefined) return this.#answered(message)
    const subscription = metaIn(paramsOf(message))[META.subscription]
    const stream = this.#streams.find(({ id }) => id === subscription)
    if (stream === undefined) return isOwnId(subscription)
    if (message.method === 'notifications/subscriptions/acknowledged') this.#acknowledged(stream, paramsOf(message))
    else if (message.method === 'notifications/tasks') this.#changed(paramsOf(message))
    return true
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#agreed = new Set()
    this.#closeBefore(this.#streams.length)
  }

  #renewIn(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#renew()
    }, ms)
  }

  #renew(): void {
    const sending = this.#sending
    if (this.#listeners.size === 0 || sending === undefined) return
    const stream: Stream = { id: ownId(), sending, abort: new AbortController() }
    this.#streams.push(stream)
    const taskIds = [...this.#listeners.keys()].slice(0, MAX_TASKS)
    const params = { notifications: { taskIds } }
    const request = withEnvelope({ jsonrpc: '2.0', id: stream.id, method: 'subscriptions/listen', params }, sending)
    const ended = (): void => this.#ended(stream, undefined)
    this.#context
      .send(request, { ...optionsFor(sending, stream.abort), onRequestStreamEnd: ended })
      .catch((error: unknown) => this.#ended(stream, httpStatusOf(error)))
  }

  #acknowledged(stream: Stream, { notifications }: Json): void {
    const taskIds = isObject(notifications) ? notifications['taskIds'] : undefined
    const agreed = new Set<unknown>(Array.isArray(taskIds) ? taskIds : [])
    // The server has subscriptions, but none to tasks.
    if (!Array.isArray(taskIds)) this.#isRefused = true
    const before = this.#agreed
    this.#agreed = agreed
    this.#failures = 0
    this.#closeBefore(this.#isRefused ? this.#streams.length : this.#streams.indexOf(stream))
    // Changes before the acknowledgement were not notified.
    this.#pollNow((taskId) => agreed.has(taskId) && !before.has(taskId))
  }

  #changed(params: Json): void {
    const { taskId } = params
    const listeners = typeof taskId === 'string' ? this.#listeners.get(taskId) : undefined
    if (listeners === undefined) return
    try {
      const task = readWholeTask(params)
      for (const listener of listeners) listener.pushed(task)
    } catch {
      // Polling finds out what is wrong, and fails with the reason.
      this.#pollNow((id) => id === taskId)
    }
  }

  #answered({ id, error }: WireMessage): boolean {
    const stream = this.#streams.find((each) => each.id === id)
    if (stream === undefined) return false
    this.#ended(stream, isObject(error) ? error['code'] : undefined)
    return true
  }

  #ended(stream: Stream, code: unknown): void {
    const index = this.#streams.indexOf(stream)
    if (index < 0) return
    this.#streams.splice(index, 1)
    if (this.#streams.length > 0) return
    this.#agreed = new Set()
    this.#failures++
    if (REFUSALS.has(code)) this.#isRefused = true
    else this.#renewIn(backoffMs(this.#failures, RENEWAL))
    this.#pollNow(() => true)
  }

  #pollNow(which: (taskId: string) => boolean): void {
    for (const [taskId, listeners] of this.#listeners) {
      if (which(taskId)) for (const listener of listeners) listener.pollNow()
    }
  }

  /** Where each request has a stream, aborting it is enough; elsewhere the server gets a notification. */
  #closeBefore(index: number): void {
    for (const { id, sending, abort } of this.#streams.splice(0, index)) {
      abort.abort()
      if (sending.hasStream) continue
      const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }
      this.#context.send(withEnvelope(cancelled, sending)).catch(() => undefined)
    }
  }
}

/** The codes and HTTP statuses of a server without this method for tasks. */
const REFUSALS: ReadonlySet<unknown> = new Set([
  CODES.METHOD_NOT_FOUND,
  CODES.INVALID_PARAMS,
  CODES.INVALID_REQUEST,
  CODES.MISSING_CLIENT_CAPABILITY,
  400,
  404,
  405,
])
