/** The server's own handler behind the endpoint: reads the body as a message and gives it to the era it belongs to. */
import { hasEnvelope, type HeaderReader, idOf, type Message, readMessage } from '../../protocol/index.ts'
import type { Logger } from '../logger.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Admission, EndpointRequest, HttpReply, RequestHandler, Sink } from './exchange.ts'
import { errorReply } from './refusal.ts'

/** Answers the messages of one era. */
export interface EraHandler {
  /** Returns the reply, or undefined when the answer goes through the sink. */
  post(
    message: Message,
    header: HeaderReader,
    principal: Principal | undefined,
    sink: Sink,
  ): HttpReply | undefined | Promise<HttpReply | undefined>
}

/** Sessions also have batches, streams and an end. */
export interface SessionHandler extends EraHandler {
  /** Several messages in one body. */
  batch(
    values: readonly unknown[],
    header: HeaderReader,
    principal: Principal | undefined,
    sink: Sink,
  ): Promise<HttpReply | undefined>
  get(header: HeaderReader, principal: Principal | undefined, sink: Sink): Promise<HttpReply | undefined>
  delete(header: HeaderReader, principal: Principal | undefined): HttpReply
}

/** The parts of a request that have its message and its era. */
type MessageRequest = Pick<EndpointRequest, 'method' | 'header' | 'json'>

export interface MessageHandlerOptions {
  readonly modern: EraHandler
  /** Absent when only the stateless era is served. */
  readonly legacy: SessionHandler | undefined
  readonly logger: () => Logger
}

const ALLOW_ALL = 'POST, GET, DELETE'
const ALLOW_MODERN = 'POST'

export class MessageHandler implements RequestHandler {
  readonly #options: MessageHandlerOptions

  constructor(options: MessageHandlerOptions) {
    this.#options = options
  }

  /** Never rejects. */
  async handle(request: MessageRequest, admission: Admission, sink: Sink): Promise<HttpReply | undefined> {
    const { modern, legacy, logger } = this.#options
    const { header } = request
    let value: unknown
    try {
      if (request.method !== 'POST') return await this.#other(request, admission, sink)
      value = await request.json()
      if (Array.isArray(value) && legacy !== undefined && admission.era !== 'modern')
        return await legacy.batch(value, header, admission.principal, sink)
      const message = readMessage(value)
      const era = legacy !== undefined && isLegacy(message, header, admission) ? legacy : modern
      const reply = era.post(message, header, admission.principal, sink)
      return reply instanceof Promise ? await reply : reply
    } catch (error) {
      return errorReply(error, logger(), idOf(value))
    }
  }

  async #other(
    { method, header }: MessageRequest,
    { principal, era }: Admission,
    sink: Sink,
  ): Promise<HttpReply | undefined> {
    const legacy = era === 'modern' ? undefined : this.#options.legacy // the stateless era has neither GET nor DELETE
    if (legacy !== undefined && method === 'GET') return legacy.get(header, principal, sink)
    if (legacy !== undefined && method === 'DELETE') return legacy.delete(header, principal)
    return { status: 405, headers: { allow: legacy === undefined ? ALLOW_MODERN : ALLOW_ALL } }
  }
}

/** The opening message picks the era: a stateless request says so in its envelope or its version header. */
function isLegacy(message: Message, header: HeaderReader, { era }: Admission): boolean {
  if (era === 'modern' || (message.kind !== 'response' && hasEnvelope(message.params))) return false
  if (era === 'legacy' || header('mcp-protocol-version') === undefined) return true
  return message.kind !== 'response' && message.method === 'initialize'
}
