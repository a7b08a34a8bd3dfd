/** One call of a tool by its caller, from its request to its answer, as a task or not. */
import { hasEnvelope, isObject, type Json, type RequestId } from '../../protocol/index.ts'
import type { AskedCall } from '../questions/answerer.ts'
import type { Following } from './poller.ts'
import { readTicket, taskMeta, type Ticket } from './handle.ts'
import type { Task } from './task.ts'
import { type SenderProfile, senderProfileOf } from '../layer/ownRequests.ts'
import type { SendOptions, WireMessage } from '../layer/transport.ts'
import { idKey, metaIn, paramsOf, type WireRequest } from '../layer/message.ts'

export class TaskCall {
  readonly request: WireRequest
  readonly options: SendOptions | undefined
  readonly params: Json
  /** It asks for a task, as calls do in a session. */
  asksForTask = false
  isOver = false
  following: Following | undefined
  #progress = 0
  #ended: AbortController | undefined

  constructor(request: WireRequest, options: SendOptions | undefined) {
    this.request = request
    this.options = options
    this.params = paramsOf(request)
  }

  get id(): RequestId {
    return this.request.id
  }

  /** What it is found by. */
  get key(): RequestId {
    return idKey(this.id)
  }

  /** Aborted when the caller has its answer, or wants none any more. */
  get signal(): AbortSignal {
    this.#ended ??= new AbortController()
    return this.#ended.signal
  }

  end(): void {
    this.isOver = true
    this.#ended?.abort()
  }

  /** The task that it goes on with. */
  get ticket(): Ticket | undefined {
    return readTicket(this.params['requestState'])
  }

  /** What it brings for that task. */
  get answers(): Readonly<Record<string, Json>> | undefined {
    const { inputResponses } = this.params
    if (!isObject(inputResponses) || Object.keys(inputResponses).length === 0) return undefined
    return inputResponses as Readonly<Record<string, Json>>
  }

  /** Whether its client speaks the stateless revision, and so can be asked by results. */
  get isModern(): boolean {
    return hasEnvelope(this.params)
  }

  get sending(): SenderProfile {
    return senderProfileOf(this.request, this.options)
  }

  get about(): AskedCall {
    const { name } = this.params
    return { method: 'tools/call', name: typeof name === 'string' && !this.ticket?.isWatch ? name : undefined }
  }

  get token(): unknown {
    return metaIn(this.params)['progressToken']
  }

  /** The server itself tells how far it is; what we tell comes after. */
  heardProgress(progress: unknown): void {
    if (typeof progress === 'number' && progress > this.#progress) this.#progress = progress
  }

  /** The status of its task, as the progress that the caller asked for. */
  progress(task: Task): WireMessage {
    const { taskId, status, statusMessage } = task
    this.#progress = Math.floor(this.#progress) + 1
    return {
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: {
        progressToken: this.token,
        progress: this.#progress,
        ...(statusMessage !== undefined && { message: statusMessage }),
        _meta: taskMeta({ taskId, status, ...(statusMessage !== undefined && { statusMessage }), ttlMs: task.ttlMs }),
      },
    }
  }
}
