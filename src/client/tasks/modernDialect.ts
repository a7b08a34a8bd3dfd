/** Tasks of the revision 2026-07-28 (SEP-2663): `tasks/get` tells everything, `tasks/update` takes answers. */
import type { Json } from '../../protocol/index.ts'
import { readWholeTask, type Task } from './task.ts'
import type { TaskTalk } from './dialects.ts'
import type { Sending, OwnRequests } from '../layer/ownRequests.ts'

export class ModernTalk implements TaskTalk {
  readonly taskId: string
  readonly #wire: OwnRequests
  readonly #sending: Sending

  constructor(taskId: string, wire: OwnRequests, sending: Sending) {
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
