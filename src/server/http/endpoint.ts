/** HTTP as both eras speak it, apart from any particular HTTP server: a request comes in as plain data, a reply goes out. */
import {
  hasEnvelope,
  type HeaderReader,
  idOf,
  isLegacyVersion,
  type Message,
  MODERN_VERSION,
  ProtocolError,
  type RequestMessage,
  type ResponseMessage,
  readMessage,
} from '../../protocol/index.ts'
import type { Authenticate, Principal } from '../auth/authenticator.ts'
import type { CallHandler } from '../call.ts'
import { errorDetails, type Logger } from '../logger.ts'
import { AuthError } from '../errors.ts'
import type { LegacyHttp } from '../legacy/http.ts'
import { modernCall, ModernChannel } from '../modern/request.ts'
import { type Reply, refusal } from './reply.ts'
import { errorMessage } from '../results.ts'
import type { Sink } from './sink.ts'
import { isExpected, toWireError } from '../wireErrors.ts'

export interface HttpRequest {
  readonly method: string
  readonly header: HeaderReader
  /** Reads the body as JSON, once; throws a ProtocolError when it is not. */
  readonly json: () => unknown
}

/** A body's `json`: lets the body go once it is read, for a request lives as long as its call. */
export function readOnce<T>(body: T, read: (body: T) => unknown): () => unknown {
  let left: T | undefined = body
  return () => {
    const taken = left as T
    left = undefined
    return read(taken)
  }
}

export interface EndpointOptions {
  readonly calls: CallHandler
  /** Absent when only the stateless era is served. */
  readonly legacy: LegacyHttp | undefined
  readonly authenticate: Authenticate | undefined
  readonly logger: () => Logger
}

const ALLOW_ALL = 'POST, GET, DELETE'
const ALLOW_MODERN = 'POST'

export class Endpoint {
  readonly #options: EndpointOptions

  constructor(options: EndpointOptions) {
    this.#options = options
  }

  /** Gives the reply, or undefined when the answer goes by the sink. Never rejects. */
  handle(request: HttpRequest, sink: Sink): Promise<Reply | undefined> {
    if (this.#options.authenticate !== undefined) return this.#authenticate(request, sink, this.#options.authenticate)
    return request.method === 'POST' ? this.#post(request, undefined, sink) : this.#other(request, undefined, sink)
  }

  async #authenticate(request: HttpRequest, sink: Sink, authenticate: Authenticate): Promise<Reply | undefined> {
    let principal: Principal | undefined
    try {
      principal = await authenticate(request)
    } catch (error) {
      return this.#refuse(error)
    }
    return request.method === 'POST' ? this.#post(request, principal, sink) : this.#other(request, principal, sink)
  }

  async #other(
    { method, header }: HttpRequest,
    principal: Principal | undefined,
    sink: Sink,
  ): Promise<Reply | undefined> {
    const { legacy } = this.#options
    try {
      if (legacy !== undefined && method === 'GET') return legacy.get(header, principal, sink)
      if (legacy !== undefined && method === 'DELETE') return legacy.delete(header, principal)
    } catch (error) {
      return this.#refuse(error)
    }
    return { status: 405, headers: { allow: legacy === undefined ? ALLOW_MODERN : ALLOW_ALL } }
  }

  async #post(request: HttpRequest, principal: Principal | undefined, sink: Sink): Promise<Reply | undefined> {
    const { header } = request
    const refused = wrongMedia(header)
    if (refused !== undefined) return refused
    let value: unknown
    try {
      value = request.json()
      const message = readMessage(value)
      if (this.#options.legacy !== undefined && isLegacy(message, header)) {
        return await this.#options.legacy.post(message, header, principal, sink)
      }
      if (message.kind === 'notification') return { status: 202 }
      this.#assertModern(message)
      const channel = new ModernChannel(sink, acceptsStream(header))
      const { body, status } = await this.#options.calls.answer(modernCall({ message, header, principal, channel }))
      return channel.finish(body) ? undefined : { status, body }
    } catch (error) {
      return this.#refuse(error, idOf(value))
    }
  }

  /** For a host that could not write a reply. */
  fail(error: unknown): Reply {
    return this.#refuse(error)
  }

  #assertModern(message: RequestMessage | ResponseMessage): asserts message is RequestMessage {
    if (message.kind === 'response') {
      throw new ProtocolError('MESSAGE_INVALID', 'A client sends answers as inputResponses, not as responses.')
    }
    if (message.method === 'initialize') refuseInitialize(message, this.#options.legacy !== undefined)
  }

  #refuse(error: unknown, id?: string | number): Reply {
    if (error instanceof AuthError) return this.#turnAway(error)
    const wire = toWireError(error)
    if (!isExpected(error)) this.#options.logger().error({ err: errorDetails(error) }, 'A request failed.')
    return { status: wire.status === 200 ? plainStatus(wire.code) : wire.status, body: errorMessage(id, wire) }
  }

  #turnAway(error: AuthError): Reply {
    const { code, reason, challenge, cause } = error
    const wire = toWireError(error)
    const body = errorMessage(undefined, wire)
    if (wire.status === 503) {
      this.#options.logger().error({ code, err: errorDetails(cause) }, 'Nobody can be authenticated right now.')
      return { status: 503, headers: { 'retry-after': '5' }, body }
    }
    this.#options.logger().debug({ code, reason }, 'A caller was turned away.')
    return { status: wire.status, ...(challenge !== undefined && { headers: { 'www-authenticate': challenge } }), body }
  }
}

/** The opening message picks the era: a stateless request says so in its envelope or its version header. */
function isLegacy(message: Message, header: HeaderReader): boolean {
  if (message.kind !== 'response' && hasEnvelope(message.params)) return false
  const version = header('mcp-protocol-version')
  return (
    version === undefined ||
    isLegacyVersion(version) ||
    (message.kind !== 'response' && message.method === 'initialize' && version !== MODERN_VERSION)
  )
}

/** A session client has no way forward by itself, so it is told which versions there are. */
function refuseInitialize(message: RequestMessage, alsoLegacy: boolean): void {
  if (hasEnvelope(message.params) || alsoLegacy) return
  throw new ProtocolError('VERSION_UNSUPPORTED', `This server has no sessions; it speaks ${MODERN_VERSION}.`, {
    supported: [MODERN_VERSION],
    requested: String(message.params['protocolVersion']),
  })
}

/** The status of an error that reached nobody who could answer by a result. */
function plainStatus(code: number): number {
  return code === -32603 ? 500 : 400
}

function wrongMedia(header: HeaderReader): Reply | undefined {
  const type = header('content-type')
  if (type !== 'application/json' && !/^application\/json\s*(?:;|$)/i.test(type ?? '')) {
    return refusal(415, 'Send the message as application/json.')
  }
  const accept = header('accept')
  if (accept !== undefined && !/application\/json|text\/event-stream|application\/\*|\*\/\*/i.test(accept)) {
    return refusal(406, 'Accept application/json and text/event-stream.')
  }
  return undefined
}

function acceptsStream(header: HeaderReader): boolean {
  return /text\/event-stream|text\/\*|\*\/\*/i.test(header('accept') ?? '*/*')
}
