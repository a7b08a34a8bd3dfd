/**
 * Questions that a session-era server pushes as requests, answered by the answerers that were declared to it.
 *
 * - At most MAX_QUESTIONS are open at once over one connection.
 * - A pushed question does not say which call it belongs to. It is withdrawn when all calls that were under way at its
 *   arrival have ended, because a question outside of a call is not answered.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { type RequestId, unlessAborted } from '../../protocol/index.ts'
import { innermost, type LayerContext } from '../layer/layer.ts'
import { errorMessage, idKey, resultMessage, type WireRequest } from '../layer/message.ts'
import type { WireMessage } from '../layer/transport.ts'
import { type Asked, type AskedCall, AnswerLater } from './answerer.ts'
import type { Dispatcher } from './dispatcher.ts'
import { MAX_QUESTIONS, tooManyQuestions } from './limits.ts'

/** JSON-RPC leaves this number to applications; the session revisions show it for a refusal. */
const REFUSED = -1

/** A call under way, as far as a pushed question needs to know it. */
export interface CallUnderWay {
  readonly about: AskedCall
  /** Aborted when the call is over. */
  readonly signal: AbortSignal
}

/** The open questions by connection, which is the transport under all layers: `rounds` and `tasks` have one limit. */
const openQuestions = new WeakMap<object, Map<RequestId, AbortController>>()

export class PushedQuestions {
  readonly #dispatcher: Dispatcher
  readonly #open: Map<RequestId, AbortController>

  /** `transport`: that of the layer which receives the questions. */
  constructor(dispatcher: Dispatcher, transport: object) {
    this.#dispatcher = dispatcher
    const connection = innermost(transport)
    this.#open = openQuestions.get(connection) ?? new Map<RequestId, AbortController>()
    openQuestions.set(connection, this.#open)
  }

  /** Answers a pushed request, through the layer that received it. `calls` are the calls under way. */
  async answer(
    { id }: WireRequest,
    request: InputRequest,
    calls: readonly CallUnderWay[],
    context: LayerContext,
  ): Promise<void> {
    // A second question under an id replaces the first.
    this.cancel(id)
    const count = this.#open.size + 1
    if (count > MAX_QUESTIONS) return send(refusal(id, tooManyQuestions(count), context), context)
    const asked = new AbortController()
    this.#open.set(idKey(id), asked)
    // `roots/list` is also sent when a session begins, outside of any call, and no person is asked.
    const isBound = request.method !== 'roots/list'
    const unbind = whenAllOver(isBound ? calls : [], () => asked.abort())
    const call = calls.length === 1 ? calls[0]?.about : undefined
    const question = { key: String(id), isPushed: true, request, call, signal: asked.signal }
    const reply = await this.#reply(id, question, context)
    unbind()
    if (this.#open.get(idKey(id)) !== asked) return
    this.#open.delete(idKey(id))
    await send(reply, context)
  }

  /** Withdraws a question. Whether there was one. */
  cancel(id: RequestId): boolean {
    const asked = this.#open.get(idKey(id))
    this.#open.delete(idKey(id))
    asked?.abort()
    return asked !== undefined
  }

  cancelAll(): void {
    for (const id of this.#open.keys()) this.cancel(id)
  }

  async #reply(id: RequestId, asked: Omit<Asked, 'server'>, context: LayerContext): Promise<WireMessage> {
    try {
      // An answerer need not watch the signal.
      return resultMessage(id, await unlessAborted(asked.signal, this.#dispatcher.ask(asked, context)))
    } catch (error) {
      return asked.signal.aborted ? refusalMessage(id) : refusal(id, error, context)
    }
  }
}

/** The refusal for the server; the reason goes to the host alone. */
function refusal(id: RequestId, reason: unknown, context: LayerContext): WireMessage {
  context.report(reason instanceof AnswerLater ? new AnswerLater(CANNOT_SUSPEND, { cause: reason }) : asError(reason))
  return refusalMessage(id)
}

function refusalMessage(id: RequestId): WireMessage {
  return errorMessage(id, REFUSED, 'The client did not answer.')
}

// A failure to send is reported by the transport.
function send(reply: WireMessage, context: LayerContext): Promise<void> {
  return context.send(reply).catch(() => undefined)
}

const CANNOT_SUSPEND =
  'A server of an older revision asks and holds its call open, so the call cannot be suspended; the question was ' +
  'refused. Answer it at once, or give this server no answerer for its kind.'

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

/**
 * Calls `then` when every call is over. Returns a function that removes the listeners, because one call may have many
 * questions.
 */
function whenAllOver(calls: readonly CallUnderWay[], then: () => void): () => void {
  let left = calls.length
  const over = (): void => {
    left--
    if (left === 0) then()
  }
  for (const { signal } of calls) signal.addEventListener('abort', over, { once: true })
  return () => {
    for (const { signal } of calls) signal.removeEventListener('abort', over)
  }
}
