/**
 * Tasks of a server of the session era (2025-11-25). It asks only while `tasks/result` is open, and each question once.
 * So all followers of a task, here or through other gateways, share one such request.
 */
import { isObject, type Json, RemoteError, toObject } from '../../../protocol/index.ts'
import type { Call } from '../../../server/internal.ts'
import type { Backend } from '../../backends/backend.ts'
import { BackendError } from '../../errors.ts'
import { isOver, modernForm, relatedTo } from './forms.ts'
import { OpenResult } from './openResult.ts'
import { requestFor, type TaskSource } from './source.ts'

export class SessionTaskSource implements TaskSource {
  readonly #backend: Backend
  readonly #open = new Map<string, OpenResult>()

  constructor(backend: Backend) {
    this.#backend = backend
  }

  status(call: Call, id: string): Promise<Json> {
    return this.#request(call, 'tasks/get', id)
  }

  async whole(call: Call, id: string): Promise<Json> {
    const status = await this.status(call, id)
    const task = modernForm(status)
    if (status['status'] === 'cancelled') return task
    if (isOver(status)) return { ...task, ...(await this.#outcome(call, id)) }
    if (status['status'] !== 'input_required') return task
    const questions = await this.#openResult(call, id).questions()
    // All questions are answered and not yet confirmed by the server, or the server asks in a way that is not visible
    // here.
    if (questions.size === 0) return { ...task, status: 'working' }
    return { ...task, inputRequests: toObject(questions) }
  }

  async result(call: Call, id: string, exposed: string): Promise<Json> {
    return relatedTo(await this.#openResult(call, id).follow(call, exposed), exposed)
  }

  async answer(call: Call, id: string, responses: Json): Promise<void> {
    const status = await this.status(call, id)
    if (!isOver(status)) this.#open.get(id)?.answer(responses)
  }

  async cancel(call: Call, id: string): Promise<void> {
    await this.#request(call, 'tasks/cancel', id)
  }

  /** A failed task may have a result that says so, or an error. */
  async #outcome(call: Call, id: string): Promise<Json> {
    try {
      const { _meta: meta, ...result } = relatedTo(await this.#request(call, 'tasks/result', id), undefined)
      const kept = isObject(meta) && Object.keys(meta).length > 0 && { _meta: meta }
      return { status: 'completed', result: { resultType: 'complete', ...result, ...kept } }
    } catch (error) {
      if (!(error instanceof RemoteError) || error instanceof BackendError) throw error
      const { code, message, data } = error
      return { status: 'failed', error: { code, message, ...(data !== undefined && { data }) } }
    }
  }

  #openResult(call: Call, id: string): OpenResult {
    const open = this.#open.get(id)
    if (open !== undefined) return open
    const made = new OpenResult(this.#backend.config.settings.parkSeconds * 1000, (way) => {
      const sent = { method: 'tasks/result', params: { taskId: id }, isEndless: true, ...way }
      return requestFor(this.#backend, call, sent)
    })
    this.#open.set(id, made)
    void made.ended.then(() => this.#open.delete(id))
    return made
  }

  #request(call: Call, method: string, id: string): Promise<Json> {
    return requestFor(this.#backend, call, { method, params: { taskId: id } })
  }
}
