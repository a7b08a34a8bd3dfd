/** One `tools/call` of a caller, from its request to its answer, whether it becomes a task or not. */
import { isObject, type Json } from '../../protocol/index.ts'
import { metaIn } from '../layer/message.ts'
import { type SenderProfile, senderProfileOf } from '../layer/ownRequests.ts'
import type { WireMessage } from '../layer/transport.ts'
import type { AskedCall } from '../questions/answerer.ts'
import { OpenCall } from '../questions/openCall.ts'
import { readTicket, taskMeta, type Ticket } from './handle.ts'
import type { TaskPoller } from './poller.ts'
import type { Task } from './task.ts'

export class TaskCall extends OpenCall {
  /** Whether the request asks for a task, as it does in a session. */
  asksForTask = false
  poller: TaskPoller | undefined
  #progress = -1

  /** The ticket in the request, where the call continues with an existing task. */
  get ticket(): Ticket | undefined {
    return readTicket(this.params['requestState'])
  }

  /** The answers that the request brings for that task. Without a ticket they belong to a round of the call. */
  get answers(): Readonly<Record<string, Json>> | undefined {
    const { inputResponses } = this.params
    if (this.ticket === undefined || !isObject(inputResponses) || Object.keys(inputResponses).length === 0)
      return undefined
    return inputResponses as Readonly<Record<string, Json>>
  }

  get sending(): SenderProfile {
    return senderProfileOf(this.request, this.options)
  }

  get about(): AskedCall {
    const { name } = this.params
    return { method: 'tools/call', name: typeof name === 'string' && !this.ticket?.isWatch ? name : undefined }
  }

  get progressToken(): unknown {
    return metaIn(this.params)['progressToken']
  }

  /** Takes note of the server's own progress: the next progress that is sent from here must be higher. */
  serverProgressed(progress: unknown): void {
    if (typeof progress === 'number' && progress > this.#progress) this.#progress = progress
  }

  /** A progress notification with the status of the task. */
  progress(task: Task): WireMessage {
    const { taskId, status, statusMessage, progress } = task
    const told = progress !== undefined && progress.progress > this.#progress ? progress : undefined
    this.#progress = told?.progress ?? this.#progress + stepAfter(progress, this.#progress)
    return {
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: {
        progressToken: this.progressToken,
        progress: this.#progress,
        ...(progress?.total !== undefined && { total: progress.total }),
        ...(statusMessage !== undefined && { message: statusMessage }),
        _meta: taskMeta({
          taskId,
          status,
          ...(statusMessage !== undefined && { statusMessage }),
          ...(progress !== undefined && { progress }),
          ttlMs: task.ttlMs,
        }),
      },
    }
  }
}

/** Progress must increase with each notification, also if a task changed and is no further. */
function stepAfter(progress: Task['progress'], last: number): number {
  return progress === undefined ? Math.floor(last) + 1 - last : 1e-6
}
