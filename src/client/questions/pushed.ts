/**
 * Questions that a session-era server pushes as requests, answered by the answerers that were declared to it.
 *
 * - A server may have so many open at once, and no more.
 * - A question does not say which call it belongs to. It is withdrawn when every call is over that was under way when it
 *   came: what a server asks outside of a call is not answered.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Json, RequestId } from '../../protocol/index.ts'
import type { Asked } from './answerer.ts'
import type { LayerContext } from '../layer/layer.ts'
import { ClientError } from '../errors.ts'
import { MAX_QUESTIONS, tooMany } from './inputRequests.ts'
import type { Questioner } from './dispatcher.ts'
import type { RoundCall } from '../rounds/call.ts'
import { Suspend } from '../suspend/suspend.ts'
import type { WireMessage } from '../layer/transport.ts'
import { errorMessage, idKey, resultMessage, type WireRequest } from '../layer/message.ts'

/** JSON-RPC leaves this number to applications; the session revisions show it for a refusal. */
const REFUSED = -1

/** A call, as far as a question needs to know it. */
type UnderWay = Pick<RoundCall, 'about' | 'signal'>

export class PushedQuestions {
  readonly #ends: LayerContext
  readonly #questioner: Questioner
  readonly #open = new Map<RequestId, AbortController>()

  constructor(ends: LayerContext, questioner: Questioner) {
    this.#ends = ends
    this.#questioner = questioner
  }

  /** `calls` are those under way. */
  async answer({ id }: WireRequest, request: InputRequest, calls: readonly UnderWay[]): Promise<void> {
    // A second question under an id takes the place of the first.
    this.cancel(id)
    if (this.#open.size >= MAX_QUESTIONS) return this.#send(this.#refusal(id, tooMany(this.#open.size + 1)))
    const asked = new AbortController()
    this.#open.set(idKey(id), asked)
    // Folders are also asked for when a session begins, and bother nobody.
    const isBound = request.method !== 'roots/list'
    const unbind = whenAllOver(isBound ? calls : [], () => asked.abort())
    const call = calls.length === 1 ? calls[0]?.about : undefined
    const reply = await this.#reply(id, { key: String(id), isPushed: true, request, call, signal: asked.signal })
    unbind()
    if (this.#open.get(idKey(id)) !== asked) return
    this.#open.delete(idKey(id))
    await this.#send(reply)
  }

  /** The server takes a question back. */
  cancel(id: RequestId): boolean {
    const asked = this.#open.get(idKey(id))
    this.#open.delete(idKey(id))
    asked?.abort()
    return asked !== undefined
  }

  cancelAll(): void {
    for (const id of this.#open.keys()) this.cancel(id)
  }

  async #reply(id: RequestId, asked: Omit<Asked, 'server'>): Promise<WireMessage> {
    try {
      return resultMessage(id, await orAborted(asked.signal, this.#questioner.ask(asked)))
    } catch (error) {
      return asked.signal.aborted ? refusalOf(id) : this.#refusal(id, error)
    }
  }

  /** Why is for the host. */
  #refusal(id: RequestId, error: unknown): WireMessage {
    this.#ends.report(error instanceof Suspend ? new Suspend(error.options, CANNOT_SLEEP) : asError(error))
    return refusalOf(id)
  }

  // The transport reports what it cannot send.
  #send(reply: Json): Promise<void> {
    return this.#ends.send(reply).catch(() => undefined)
  }
}

const CANNOT_SLEEP =
  'A server of an older revision asks and holds its call open, so the call cannot be suspended; the question was ' +
  'refused. Answer it at once, or give this server no answerer for its kind.'

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

function refusalOf(id: RequestId): WireMessage {
  return errorMessage(id, REFUSED, 'The client did not answer.')
}

/** Gives what ends the listening: a call may have any number of questions. */
function whenAllOver(calls: readonly UnderWay[], then: () => void): () => void {
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

/** An answerer need not look at its signal. */
function orAborted<Result>(signal: AbortSignal, answer: Promise<Result>): Promise<Result> {
  const aborted = new Promise<never>((_, reject) => {
    const stop = (): void => reject(new ClientError('ANSWER_FAILED', 'The question was taken back.'))
    signal.addEventListener('abort', stop, { once: true })
  })
  return Promise.race([answer, aborted])
}
