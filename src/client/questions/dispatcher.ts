/**
 * Chooses who answers a question: the answerer for its kind, else the client's own handler where the client declared the
 * kind itself. Without either, the call fails.
 */
import type { ClientCapabilities, InputRequest } from '@modelcontextprotocol/client'
import {
  answersInShape,
  declaresAll,
  isObject,
  type Json,
  META,
  neededCapability,
  type RequestId,
} from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import type { LayerContext } from '../layer/layer.ts'
import { metaIn, mintId, type WireResponse } from '../layer/message.ts'
import type { Answerers, Asked } from './answerer.ts'
import type { Questions } from './inputRequests.ts'
import { answererFor, questionName } from './kinds.ts'

export interface DispatcherOptions {
  readonly answerers: Answerers
  /** The host's facts about the server. */
  readonly server?: Partial<Asked['server']> | undefined
}

/** The way to the client's own handlers, from the layer that asks. */
type ToClient = Pick<LayerContext, 'deliver'>

export class Dispatcher {
  readonly #answerers: Answerers
  readonly #handlers = new ClientHandlers()
  #server: Asked['server']
  /** The client's own declaration, in a session. */
  #declared: ClientCapabilities = {}

  constructor({ answerers, server }: DispatcherOptions) {
    this.#answerers = answerers
    this.#server = { name: server?.name, target: server?.target }
  }

  get server(): Asked['server'] {
    return this.#server
  }

  /** Takes note of the capabilities that the client declares in `initialize`. */
  clientDeclares(capabilities: unknown): void {
    this.#declared = isObject(capabilities) ? capabilities : {}
  }

  /** Records the name that the server gives itself in a result. A name from the host takes precedence. */
  serverAnswers(result: unknown): void {
    if (!isObject(result)) return
    const info = result['serverInfo'] ?? metaIn(result)[META.server]
    const name = isObject(info) && typeof info['name'] === 'string' ? info['name'] : undefined
    this.#server = { ...this.#server, name: this.#server.name ?? name }
  }

  hasAnswerer(request: InputRequest): boolean {
    return answererFor(request, this.#answerers) !== undefined
  }

  hasAllAnswerers(questions: Questions): boolean {
    return questions.every(([, request]) => this.hasAnswerer(request))
  }

  /** The questions with an answerer, and those without. */
  split(questions: Questions): { ours: Questions; theirs: Questions } {
    const ours = questions.filter(([, request]) => this.hasAnswerer(request))
    return { ours, theirs: questions.filter((question) => !ours.includes(question)) }
  }

  /** Throws if a question has no answerer, before any other question is asked in vain. */
  assertAnswerable(questions: Questions): void {
    for (const [key, request] of questions) {
      if (this.hasAnswerer(request) || declaresAll(this.#declared, neededCapability(request))) continue
      const sentence = `${questionName(key)} is of a kind that was not declared to the server; give it an answerer.`
      throw new ClientError('INPUT_UNDECLARED', sentence)
    }
  }

  /** Asks one question. A client's own handler gets it as a request, through the layer that asks. */
  async ask(asked: Omit<Asked, 'server'>, client: ToClient): Promise<Json> {
    const { key, request, signal } = asked
    const answerer = answererFor(request, this.#answerers)
    const answer =
      answerer === undefined
        ? await this.#handlers.ask(request, signal, client)
        : await answerer({ ...asked, server: this.server })
    if (answersInShape(request, answer)) return answer
    throw new ClientError('RESPONSE_INVALID', `${questionName(key)} got something that is no answer to it.`)
  }

  /** Whether the message was the client's answer to a question of ours; the server must not see it then. */
  take(message: WireResponse): boolean {
    return this.#handlers.take(message)
  }
}

/**
 * The client's own handlers. A session-era client that declared a kind itself is asked by a request, as its server
 * would do; the request comes from the layer.
 */
class ClientHandlers {
  readonly #waiting = new Map<RequestId, (answer: WireResponse) => void>()

  ask({ method, params }: InputRequest, signal: AbortSignal, client: ToClient): Promise<Json> {
    const id = mintId()
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        this.#waiting.delete(id)
        client.deliver({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
        reject(new ClientError('ANSWER_FAILED', 'The question was withdrawn before the client had answered it.'))
      }
      this.#waiting.set(id, ({ result }) => {
        signal.removeEventListener('abort', cancel)
        if (isObject(result)) resolve(result)
        else reject(new ClientError('ANSWER_FAILED', "The client's own handler did not answer a question."))
      })
      signal.addEventListener('abort', cancel, { once: true })
      client.deliver({ jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) })
    })
  }

  take(message: WireResponse): boolean {
    const settle = this.#waiting.get(message.id)
    if (settle === undefined) return false
    this.#waiting.delete(message.id)
    settle(message)
    return true
  }
}
