/** Who is asked: an answerer, the client's own handlers, or nobody, because nobody said that they can be. */
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
import { metaIn, mintId, type WireAnswer } from '../layer/message.ts'
import type { Answerers, Asked } from './answerer.ts'
import type { InputRequired } from './inputRequests.ts'
import { answererFor } from './kinds.ts'
import { questionName } from './response.ts'

export class Questioner {
  readonly #answerers: Answerers
  readonly #client: ClientQuestions
  #server: Asked['server']
  /** What the client declared itself, in a session. */
  #declared: ClientCapabilities = {}

  constructor(ends: LayerContext, answerers: Answerers, server: Partial<Asked['server']> | undefined) {
    this.#client = new ClientQuestions(ends)
    this.#answerers = answerers
    this.#server = { name: server?.name, target: server?.target }
  }

  get server(): Asked['server'] {
    return this.#server
  }

  heardClient(capabilities: unknown): void {
    this.#declared = isObject(capabilities) ? capabilities : {}
  }

  /** The result of `initialize` or `server/discover`: how the server calls itself. The host may know better. */
  heardServer(result: unknown): void {
    if (!isObject(result)) return
    const info = result['serverInfo'] ?? metaIn(result)[META.server]
    const name = isObject(info) && typeof info['name'] === 'string' ? info['name'] : undefined
    this.#server = { ...this.#server, name: this.#server.name ?? name }
  }

  /** Whether there is an answerer for each of the questions. */
  answersAll({ questions }: InputRequired): boolean {
    return questions.every(([, request]) => this.answers(request))
  }

  /** Those that there is an answerer for, and the others. */
  sorted({ questions }: InputRequired): { ours: InputRequired['questions']; theirs: InputRequired['questions'] } {
    const ours = questions.filter(([, request]) => this.answers(request))
    return { ours, theirs: questions.filter((question) => !ours.includes(question)) }
  }

  answers(request: InputRequest): boolean {
    return answererFor(request, this.#answerers) !== undefined
  }

  /** Throws where one of the questions can be answered by nobody, so that no other is asked in vain. */
  assertAnswerable({ questions }: InputRequired): void {
    for (const [key, request] of questions) {
      if (this.answers(request) || declaresAll(this.#declared, neededCapability(request))) continue
      const sentence = `${questionName(key)} is of a kind that was not declared to the server; give it an answerer.`
      throw new ClientError('INPUT_UNDECLARED', sentence)
    }
  }

  async ask(asked: Omit<Asked, 'server'>): Promise<Json> {
    const { key, request, signal } = asked
    const answerer = answererFor(request, this.#answerers)
    const answer =
      answerer === undefined
        ? await this.#client.ask(request, signal)
        : await answerer({ ...asked, server: this.server })
    if (answersInShape(request, answer)) return answer
    throw new ClientError('RESPONSE_INVALID', `${questionName(key)} got something that is no answer to it.`)
  }

  /** Whether the message is the client's answer to a question of ours. */
  take(message: WireAnswer): boolean {
    return this.#client.take(message)
  }
}

/**
 * Questions for the client's own handlers. A session-era client that declared a kind itself can be asked it as its server
 * would have: by a request, which here comes from the layer.
 */

class ClientQuestions {
  readonly #ends: LayerContext
  readonly #waiting = new Map<RequestId, (answer: WireAnswer) => void>()

  constructor(ends: LayerContext) {
    this.#ends = ends
  }

  ask({ method, params }: InputRequest, signal: AbortSignal): Promise<Json> {
    const id = mintId()
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        this.#waiting.delete(id)
        this.#ends.deliver({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
        reject(new ClientError('ANSWER_FAILED', 'The question was taken back before the client had answered.'))
      }
      this.#waiting.set(id, ({ result }) => {
        signal.removeEventListener('abort', cancel)
        if (isObject(result)) resolve(result)
        else reject(new ClientError('ANSWER_FAILED', "The client's own handler did not answer a question."))
      })
      signal.addEventListener('abort', cancel, { once: true })
      this.#ends.deliver({ jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) })
    })
  }

  /** Whether the message answers a question of ours; the server must not see it then. */
  take(message: WireAnswer): boolean {
    const settle = this.#waiting.get(message.id)
    if (settle === undefined) return false
    this.#waiting.delete(message.id)
    settle(message)
    return true
  }
}
