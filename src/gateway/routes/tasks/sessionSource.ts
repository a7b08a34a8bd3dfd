/**
 * Tasks of a server of the session era (2025-11-25). It asks only while `tasks/result` is open, so for clients of the
 * stateless era, which read the questions from the task, the gateway keeps that request open.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json, RemoteError, sleep, toObject, unref } from '../../../protocol/index.ts'
import type { Call } from '../../../server/internal.ts'
import type { Backend } from '../../backends/backend.ts'
import type { Relayed } from '../../links/relayed.ts'
import { BackendError } from '../../errors.ts'
import { askerOf } from '../relayedCall.ts'
import { isOver, modernForm, relatedTo } from './forms.ts'
import { ModernTaskSource } from './modernSource.ts'
import { requestFor, type TaskSource } from './source.ts'

/** A server sends its questions as soon as the result is asked for. */
const QUESTIONS_MS = 1000

export class SessionTaskSource implements TaskSource {
  readonly #backend: Backend
  readonly #open = new Map<string, OpenResult>()

  /** The tasks as those of the stateless era. */
  readonly #followed: ModernTaskSource

  constructor(backend: Backend) {
    this.#backend = backend
    this.#followed = new ModernTaskSource(backend.name, async (call, method, { taskId, inputResponses }) => {
      if (method === 'tasks/get') return this.whole(call, String(taskId))
      await this.answer(call, String(taskId), inputResponses as Json)
      return {}
    })
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
    // All are answered, and the server has not said so yet; or it asks in a way that nobody can see here.
    if (questions.size === 0) return { ...task, status: 'working' }
    return { ...task, inputRequests: toObject(questions) }
  }

  async result(call: Call, id: string, exposed: string): Promise<Json> {
    // The server asks each question once, and has asked it where the result is open already: for another gateway, perhaps.
    if (this.#open.has(id)) return this.#followed.result(call, id, exposed)
    const ask = askerOf(call)
    const asking =
      ask &&
      ((request: InputRequest) => ask({ ...request, params: relatedTo(request.params ?? {}, exposed) } as InputRequest))
    const sent = { method: 'tasks/result', params: { taskId: id }, ask: asking, isEndless: true }
    return relatedTo(await requestFor(this.#backend, call, sent), exposed)
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
      const sent = { method: 'tasks/result', params: { taskId: id }, notify: () => {}, isEndless: true, ...way }
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

/** An open request for the result of a task, and what the server has asked on it. */
class OpenResult {
  /** Resolves when the server has answered, or nobody waits any longer. */
  readonly ended: Promise<void>
  readonly #questions = new Map<string, { request: InputRequest; answer: (response: Json) => void }>()
  readonly #cancels: (() => void)[] = []
  #asked = 0
  readonly #first = Promise.withResolvers<void>()

  constructor(maxMs: number, send: (way: Pick<Relayed, 'ask' | 'onCancel'>) => Promise<Json>) {
    const late = unref(setTimeout(() => this.#cancel(), maxMs))
    const result = send({
      ask: (request) => this.#ask(request),
      onCancel: (listener) => void this.#cancels.push(listener),
    })
    this.ended = result.then(
      () => clearTimeout(late),
      () => clearTimeout(late),
    )
  }

  async questions(): Promise<ReadonlyMap<string, InputRequest>> {
    const over = new AbortController()
    await Promise.race([this.#first.promise, this.ended, sleep(QUESTIONS_MS, over.signal).catch(() => {})])
    over.abort()
    return new Map(Array.from(this.#questions, ([key, { request }]) => [key, request]))
  }

  /** The first answer to a question counts. */
  answer(responses: Json): void {
    for (const [key, response] of Object.entries(responses)) {
      const question = this.#questions.get(key)
      if (question === undefined || !isObject(response)) continue
      this.#questions.delete(key)
      question.answer(response)
    }
  }

  #ask(request: InputRequest): Promise<Json> {
    const { promise, resolve } = Promise.withResolvers<Json>()
    const params = relatedTo(request.params ?? {}, undefined)
    this.#questions.set(`question-${++this.#asked}`, {
      request: { ...request, params } as InputRequest,
      answer: resolve,
    })
    this.#first.resolve()
    return promise
  }

  #cancel(): void {
    for (const cancel of this.#cancels) cancel()
  }
}
