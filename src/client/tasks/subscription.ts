/**
 * Hearing of tasks as they change, in the revision 2026-07-28: one `subscriptions/listen` for all that are followed.
 * When there are more of them, a new stream is opened, and the old one closed once the new one is there. A server that
 * has no such thing is asked for it once; then its tasks are looked at.
 */
import { CODES, isObject, type Json, META } from '../../protocol/index.ts'
import type { LayerContext } from '../layer/layer.ts'
import { readWholeTask, type Task } from './task.ts'
import { httpStatusOf, isOwnId, optionsFor, ownId, type SenderProfile, withEnvelope } from '../layer/ownRequests.ts'
import type { WireMessage } from '../layer/transport.ts'
import { metaIn, paramsOf } from '../layer/message.ts'

export interface Listener {
  /** The task as it is now. */
  hear(task: Task): void
  /** Changes are told from now on, or not any more. */
  nudge(): void
}

interface Stream {
  readonly id: string
  readonly sending: SenderProfile
  readonly abort: AbortController
}

/** Tasks that begin together are listened to together. */
const GATHER_MS = 20
const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 30_000
/** Of more tasks at once, the rest are looked at. */
const MAX_TASKS = 500

export class TaskNews {
  readonly #ends: LayerContext
  readonly #listeners = new Map<string, Set<Listener>>()
  #streams: Stream[] = []
  /** Which of the tasks the server agreed to tell of. */
  #told: ReadonlySet<unknown> = new Set()
  #sending: SenderProfile | undefined
  #isRefused = false
  #timer: NodeJS.Timeout | undefined
  #pauseMs = FIRST_PAUSE_MS

  constructor(ends: LayerContext) {
    this.#ends = ends
  }

  listen(taskId: string, listener: Listener, sending: SenderProfile): void {
    const others = this.#listeners.get(taskId)
    this.#listeners.set(taskId, (others ?? new Set()).add(listener))
    this.#sending = sending
    if (!this.#isRefused && others === undefined) this.#renewIn(GATHER_MS)
  }

  leave(taskId: string, listener: Listener): void {
    const listeners = this.#listeners.get(taskId)
    listeners?.delete(listener)
    if (listeners?.size === 0) this.#listeners.delete(taskId)
    if (this.#listeners.size === 0) this.stop()
  }

  isTold(taskId: string): boolean {
    return this.#told.has(taskId)
  }

  /** Whether a message is about one of these streams, and not for the client. */
  takes(message: WireMessage): boolean {
    if (message.method === undefined) return this.#answered(message)
    const subscription = metaIn(paramsOf(message))[META.subscription]
    const stream = this.#streams.find(({ id }) => id === subscription)
    if (stream === undefined) return isOwnId(subscription)
    if (message.method === 'notifications/subscriptions/acknowledged') this.#opened(stream, paramsOf(message))
    else if (message.method === 'notifications/tasks') this.#heard(paramsOf(message))
    return true
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#told = new Set()
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
    this.#ends
      .send(request, { ...optionsFor(sending, stream.abort), onRequestStreamEnd: ended })
      .catch((error: unknown) => this.#ended(stream, httpStatusOf(error)))
  }

  #opened(stream: Stream, { notifications }: Json): void {
    const taskIds = isObject(notifications) ? notifications['taskIds'] : undefined
    const agreed = new Set<unknown>(Array.isArray(taskIds) ? taskIds : [])
    // It tells of other things, and has never heard of tasks.
    if (!Array.isArray(taskIds)) this.#isRefused = true
    const before = this.#told
    this.#told = agreed
    this.#pauseMs = FIRST_PAUSE_MS
    this.#closeBefore(this.#isRefused ? this.#streams.length : this.#streams.indexOf(stream))
    // What happened before it listened was told to nobody.
    this.#nudge((taskId) => agreed.has(taskId) && !before.has(taskId))
  }

  #heard(params: Json): void {
    const { taskId } = params
    const listeners = typeof taskId === 'string' ? this.#listeners.get(taskId) : undefined
    if (listeners === undefined) return
    try {
      const task = readWholeTask(params)
      for (const listener of listeners) listener.hear(task)
    } catch {
      // Whoever follows it looks for themselves, and finds out what is wrong.
      this.#nudge((id) => id === taskId)
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
    this.#told = new Set()
    if (REFUSALS.has(code)) this.#isRefused = true
    else this.#renewIn(this.#pauseMs)
    this.#pauseMs = Math.min(this.#pauseMs * 2, MAX_PAUSE_MS)
    this.#nudge(() => true)
  }

  #nudge(whom: (taskId: string) => boolean): void {
    for (const [taskId, listeners] of this.#listeners) {
      if (whom(taskId)) for (const listener of listeners) listener.nudge()
    }
  }

  /** Where each request has a stream, its end is the sign; elsewhere it takes a word. */
  #closeBefore(index: number): void {
    for (const { id, sending, abort } of this.#streams.splice(0, index)) {
      abort.abort()
      if (sending.hasStream) continue
      const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }
      this.#ends.send(withEnvelope(cancelled, sending)).catch(() => undefined)
    }
  }
}

/** The server has no such method, or none for tasks. */
const REFUSALS: ReadonlySet<unknown> = new Set([
  CODES.METHOD_NOT_FOUND,
  CODES.INVALID_PARAMS,
  CODES.INVALID_REQUEST,
  CODES.MISSING_CLIENT_CAPABILITY,
  400,
  404,
  405,
])
