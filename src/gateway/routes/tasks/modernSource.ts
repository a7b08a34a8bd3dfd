/**
 * Tasks of a server of the stateless era, or of another gateway. For session-era clients the gateway polls, and pushes
 * the questions.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import {
  CODES,
  isObject,
  type Json,
  questionOfTask,
  RemoteError,
  remoteErrorIn,
  sleep,
  TaskFailed,
} from '../../../protocol/index.ts'
import type { Call } from '../../../server/internal.ts'
import type { Backend } from '../../backends/backend.ts'
import { BackendError } from '../../errors.ts'
import { withTasks } from '../../links/relayed.ts'
import { askerOf } from '../relayedCall.ts'
import { resultForm, sessionForm } from './forms.ts'
import { requestFor, type TaskSource } from './source.ts'

const POLL_MS = { usual: 1000, least: 100, most: 10_000 }

/** Sends a request about a task; returns the result. */
export type TaskRequest = (call: Call, method: string, params: Json) => Promise<Json>

export class ModernTaskSource implements TaskSource {
  readonly #server: string
  readonly #request: TaskRequest

  constructor(server: string, request: TaskRequest) {
    this.#server = server
    this.#request = request
  }

  async status(call: Call, id: string): Promise<Json> {
    return sessionForm(await this.whole(call, id))
  }

  whole(call: Call, id: string): Promise<Json> {
    return this.#request(call, 'tasks/get', { taskId: id })
  }

  async answer(call: Call, id: string, responses: Json): Promise<void> {
    await this.#request(call, 'tasks/update', { taskId: id, inputResponses: responses })
  }

  async cancel(call: Call, id: string): Promise<void> {
    await this.#request(call, 'tasks/cancel', { taskId: id })
  }

  async result(call: Call, id: string, exposed: string): Promise<Json> {
    const left = new AbortController()
    call.channel.onCancel(() => left.abort())
    const poll = polling(call)
    /** A server may acknowledge an answer before its task shows it. */
    const answered = new Set<string>()
    for (;;) {
      const task = await this.whole(poll, id)
      const { status, result, error, inputRequests } = task
      if (status === 'completed' && isObject(result)) return resultForm(result, exposed)
      if (status === 'failed' || status === 'cancelled') throw failureOf(error)
      const open = isObject(inputRequests) ? Object.entries(inputRequests) : []
      const questions = new Map(open.filter(([key]) => !answered.has(key)) as [string, InputRequest][])
      if (status === 'input_required' && questions.size > 0) {
        await this.#ask(call, id, exposed, questions, left.signal)
        for (const key of questions.keys()) answered.add(key)
      } else {
        // The key of an answered question may be used again for another question.
        for (const key of answered) if (!open.some(([each]) => each === key)) answered.delete(key)
        await this.#pause(task, left.signal)
      }
    }
  }

  /** Asks all questions at once; resolves when they are answered, here or through another client. */
  async #ask(
    call: Call,
    id: string,
    exposed: string,
    questions: ReadonlyMap<string, InputRequest>,
    left: AbortSignal,
  ): Promise<void> {
    const ask = askerOf(call)
    if (ask === undefined) throw new BackendError('BACKEND_REFUSED', this.#server, NOT_ASKED)
    const over = new AbortController()
    const asked = Array.from(questions, async ([key, request]) => {
      const response = await ask(questionOfTask(request, exposed))
      await this.answer(call, id, { [key]: response })
    })
    try {
      await Promise.race([
        Promise.all(asked),
        this.#untilMoved(call, id, questions, AbortSignal.any([left, over.signal])),
      ])
    } finally {
      over.abort()
      for (const answered of asked) answered.catch(() => {}) // the task no longer waits for these
    }
  }

  async #untilMoved(
    call: Call,
    id: string,
    questions: ReadonlyMap<string, unknown>,
    signal: AbortSignal,
  ): Promise<void> {
    const poll = polling(call)
    for (;;) {
      const task = await this.whole(poll, id)
      const open = isObject(task['inputRequests']) ? task['inputRequests'] : {}
      if (![...questions.keys()].some((key) => Object.hasOwn(open, key))) return
      await this.#pause(task, signal)
    }
  }

  async #pause({ pollIntervalMs }: Json, signal: AbortSignal): Promise<void> {
    const wished = typeof pollIntervalMs === 'number' ? pollIntervalMs : POLL_MS.usual
    await sleep(Math.min(Math.max(wished, POLL_MS.least), POLL_MS.most), signal)
  }
}

/** The call for polls. There may be thousands, so they do not listen for its cancellation. */
function polling(call: Call): Call {
  const { channel } = call
  const { push } = channel
  return {
    ...call,
    channel: {
      address: channel.address,
      cancelled: channel.cancelled,
      notify: (method, params) => channel.notify(method, params),
      onCancel: () => {},
      ...(push !== undefined && { push: push.bind(channel) }),
    },
  }
}

/** Requests to a server behind this gateway. */
export function requestsTo(backend: Backend): TaskRequest {
  return (call, method, params) => {
    const meta = call.params['_meta']
    const sent = { ...params, ...(meta !== undefined && { _meta: meta }) }
    return requestFor(backend, call, { method, params: sent, peer: withTasks(call.peer), ask: askerOf(call) })
  }
}

const NOT_ASKED = 'asks something for this task, and the client cannot be asked on this connection.'

const CANCELLED = new RemoteError(CODES.INTERNAL_ERROR, 'The task was cancelled.')

function failureOf(error: unknown): TaskFailed {
  const { code, message, data } = remoteErrorIn(error) ?? CANCELLED
  return new TaskFailed({ code, message, data })
}
