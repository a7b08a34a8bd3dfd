/**
 * Lets a client that knows only sessions talk to a server that knows only the stateless revision. `initialize` is
 * answered here from `server/discover`; each request gets its envelope; subscriptions and the log level take their
 * modern forms. A server that turns out to be of the session era gets the client's own `initialize`, and from then on
 * everything passes.
 *
 * Over HTTP the transport needs `modernFetch` as its `fetch`, for the headers.
 */
import { CODES, isLogLevel, isObject, type Json, META, MODERN_VERSION, type RequestId } from '../../protocol/index.ts'
import { createLayer, type LayerContext, type LayerHandlers } from '../layer/layer.ts'
import { ClientError } from '../errors.ts'
import { ResourceSubscriptions, ListenStreams } from './subscriptions.ts'
import { plainLine } from '../safeText.ts'
import { timerMs } from '../timerMs.ts'
import { hasProcess, type Layer, type SendOptions, type WireMessage } from '../layer/transport.ts'
import * as wire from '../layer/message.ts'

export interface ModernOptions {
  /**
   * How long a process may be silent about what it is, in milliseconds; then it is taken for one of the session era. A
   * server over HTTP has to answer. @default 5000
   */
  probeMs?: number
}

export function modern({ probeMs = 5_000 }: ModernOptions = {}): Layer {
  const ms = timerMs(probeMs, '"probeMs"')
  return (transport) => createLayer(transport, (ends) => new Modern(ends, hasProcess(transport) ? ms : undefined))
}

/** The codes that only servers of the stateless revision answer with. */
const MODERN_ERRORS: ReadonlySet<unknown> = new Set([
  CODES.HEADER_MISMATCH,
  CODES.MISSING_CLIENT_CAPABILITY,
  CODES.UNSUPPORTED_PROTOCOL_VERSION,
])

class Modern implements LayerHandlers {
  readonly #ends: LayerContext
  readonly #probeMs: number | undefined
  readonly #listening: ResourceSubscriptions
  readonly #streams: ListenStreams
  #era: 'unknown' | 'legacy' | 'modern' = 'unknown'
  /** The client's `initialize`, while the server is asked what it is. */
  #hello: (wire.WireRequest & { readonly asked: RequestId }) | undefined
  /** What a process did not answer in time. Its late answer is for nobody. */
  #unheeded: RequestId | undefined
  #probe: NodeJS.Timeout | undefined
  #envelope: Json = {}
  #capabilities: Json = {}

  constructor(ends: LayerContext, probeMs: number | undefined) {
    this.#ends = ends
    this.#probeMs = probeMs
    this.#streams = new ListenStreams(ends, (message) => this.receive(message, undefined))
    this.#listening = new ResourceSubscriptions({
      open: (id, notifications) => this.#streams.open(id, { notifications, _meta: this.#envelope }),
      close: (id) => this.#streams.close(id),
      answer: (message) => ends.deliver(message),
    })
  }

  async send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    if (message.method === 'initialize' && wire.isRequest(message)) return this.#greet(message, options)
    if (this.#era !== 'modern') return this.#ends.send(message, options)
    if (wire.isRequest(message)) return this.#request(message, options)
    // The revision knows one notification of clients, and no answers of theirs.
    if (message.method === 'notifications/cancelled') return this.#ends.send(message, options)
    if (message.method === 'notifications/initialized') this.#listening.listen(this.#capabilities)
  }

  receive(message: WireMessage, extra: unknown): void {
    if (this.#hello !== undefined && message.id === this.#hello.asked) return this.#discovered(this.#hello, message)
    if (this.#unheeded !== undefined && message.id === this.#unheeded) return
    if (this.#era !== 'modern') return this.#ends.deliver(message, extra)
    if (wire.isRequest(message)) return this.#ends.report(outOfRevision(message))
    if (wire.isResponse(message)) this.#streams.answered(message.id)
    if (!this.#listening.takes(message)) this.#ends.deliver(message, extra)
  }

  setProtocolVersion(version: string, inner: (version: string) => void): void {
    inner(this.#era === 'modern' ? MODERN_VERSION : version)
  }

  closed(): void {
    this.#asked()
    this.#listening.stop()
    this.#streams.drop()
    this.#era = 'unknown'
  }

  async #greet(message: wire.WireRequest, options: SendOptions | undefined): Promise<void> {
    const { clientInfo, capabilities } = wire.paramsOf(message)
    this.#envelope = {
      [META.version]: MODERN_VERSION,
      [META.client]: clientInfo,
      [META.capabilities]: isObject(capabilities) ? capabilities : {},
    }
    const id = wire.mintId()
    this.#hello = { ...message, asked: id }
    if (this.#probeMs !== undefined) this.#probe = setTimeout(() => this.#silent(), this.#probeMs)
    try {
      const params = { _meta: this.#envelope }
      await this.#ends.send({ jsonrpc: '2.0', id, method: 'server/discover', params }, options)
    } catch (error) {
      const isOpen = this.#hello?.asked === id
      if (isOpen) this.#asked()
      if (!isOpen || !isRefusal(error)) throw error
      await this.#goLegacy(message, options)
    }
  }

  #discovered(hello: wire.WireRequest, message: WireMessage): void {
    this.#asked()
    const { result, error } = message
    if (isObject(result)) return this.#goModern(hello, result)
    if (isObject(error) && MODERN_ERRORS.has(error['code'])) return this.#ends.deliver({ ...message, id: hello.id })
    this.#greetAnew(hello)
  }

  /** Older servers may ignore what comes before `initialize`. */
  #silent(): void {
    const hello = this.#hello
    if (hello === undefined) return
    this.#unheeded = hello.asked
    this.#greetAnew(hello)
  }

  #greetAnew(hello: wire.WireRequest): void {
    this.#goLegacy(hello, undefined).catch((cause: unknown) => {
      const sentence = 'The server could not be asked for a session.'
      this.#ends.deliver(wire.errorMessage(hello.id, CODES.INTERNAL_ERROR, sentence, { code: 'CONNECT_FAILED', cause }))
    })
  }

  #goModern(hello: wire.WireRequest, discovered: Json): void {
    const { capabilities, instructions, _meta } = discovered
    this.#era = 'modern'
    this.#capabilities = isObject(capabilities) ? capabilities : {}
    const serverInfo = (isObject(_meta) && _meta[META.server]) || { name: 'unnamed', version: '' }
    this.#ends.deliver(
      wire.resultMessage(hello.id, {
        protocolVersion: wire.paramsOf(hello)['protocolVersion'],
        capabilities: this.#capabilities,
        serverInfo,
        ...(instructions !== undefined && { instructions }),
      }),
    )
  }

  async #goLegacy({ id, params }: WireMessage, options: SendOptions | undefined): Promise<void> {
    this.#asked()
    this.#era = 'legacy'
    await this.#ends.send({ jsonrpc: '2.0', id, method: 'initialize', params } as WireMessage, options)
  }

  /** It is known what the server is. */
  #asked(): void {
    clearTimeout(this.#probe)
    this.#hello = undefined
  }

  async #request(message: wire.WireRequest, options: SendOptions | undefined): Promise<void> {
    const { id, method } = message
    const { level, uri } = wire.paramsOf(message)
    switch (method) {
      case 'ping':
        return this.#answer(id)
      case 'logging/setLevel':
        if (!isLogLevel(level)) return this.#ends.deliver(wire.errorMessage(id, CODES.INVALID_PARAMS, 'No such level.'))
        this.#envelope = { ...this.#envelope, [META.logLevel]: level }
        return this.#answer(id)
      case 'resources/subscribe':
        return this.#listening.subscribe(id, String(uri))
      case 'resources/unsubscribe':
        return this.#listening.unsubscribe(id, String(uri))
      default:
        return this.#ends.send(wire.withMeta(message, this.#envelope), options)
    }
  }

  #answer(id: RequestId): void {
    this.#ends.deliver(wire.resultMessage(id, {}))
  }
}

function outOfRevision({ method }: wire.WireRequest): ClientError {
  const sentence = `The server's request "${plainLine(method, 60)}" was dropped. Its revision has no requests of servers.`
  return new ClientError('REQUEST_UNRELATED', sentence)
}

/** A server of the session era refuses what it does not know with a status; a network that fails has none. */
function isRefusal(error: unknown): boolean {
  const status = isObject(error) ? error['code'] : undefined
  return typeof status === 'number' && status >= 400 && status < 500
}
