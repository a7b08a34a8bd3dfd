/**
 * Connects a client that knows only sessions to a server that knows only the stateless revision. The layer answers
 * `initialize` with what `server/discover` gave, adds the envelope to each request, and translates subscriptions and the
 * log level. If the server turns out to be of the session era, it gets the client's own `initialize`, and from then on
 * all messages pass unchanged.
 *
 * Over HTTP the transport needs `modernFetch` as its `fetch`, for the headers.
 */
import {
  assertOptionNames,
  CODES,
  isLogLevel,
  isObject,
  type Json,
  META,
  MODERN_VERSION,
  type OptionNames,
  type RequestId,
  timerMs,
} from '../../protocol/index.ts'
import { createLayer, type LayerContext, type LayerHandlers } from '../layer/layer.ts'
import { ClientError } from '../errors.ts'
import { ResourceSubscriptions, ListenStreams } from './subscriptions.ts'
import { plainLine } from '../safeText.ts'
import { hasProcess, type Layer, type SendOptions, type WireMessage } from '../layer/transport.ts'
import * as wire from '../layer/message.ts'

export interface ModernOptions {
  /**
   * How long a process may take to respond to `server/discover`, in milliseconds. After that it is treated as a server
   * of the session era. Over HTTP there is no such limit. @default 5000
   */
  probeMs?: number
}

const MODERN_OPTIONS: OptionNames<ModernOptions> = { probeMs: true }

/** A layer with which a client that knows only sessions calls servers of 2026-07-28. */
export function modern(options: ModernOptions = {}): Layer {
  assertOptionNames(options, MODERN_OPTIONS, 'modern()')
  const { probeMs = 5_000 } = options
  const ms = timerMs(probeMs, '"probeMs"')
  return (transport) => createLayer(transport, (context) => new Modern(context, hasProcess(transport) ? ms : undefined))
}

/** The error codes that only servers of the stateless revision use. */
const MODERN_ERRORS: ReadonlySet<unknown> = new Set([
  CODES.HEADER_MISMATCH,
  CODES.MISSING_CLIENT_CAPABILITY,
  CODES.UNSUPPORTED_PROTOCOL_VERSION,
])

class Modern implements LayerHandlers {
  readonly #context: LayerContext
  readonly #probeMs: number | undefined
  readonly #subscriptions: ResourceSubscriptions
  readonly #streams: ListenStreams
  #era: 'unknown' | 'legacy' | 'modern' = 'unknown'
  /** The client's `initialize`, while `server/discover` is under way, with the id of that. */
  #initialize: (wire.WireRequest & { readonly discoverId: RequestId }) | undefined
  /** The `server/discover` that got no response in time. A late response is ignored. */
  #timedOutId: RequestId | undefined
  #probeTimer: NodeJS.Timeout | undefined
  #envelope: Json = {}
  #capabilities: Json = {}

  constructor(context: LayerContext, probeMs: number | undefined) {
    this.#context = context
    this.#probeMs = probeMs
    this.#streams = new ListenStreams(context, (message) => this.receive(message, undefined))
    this.#subscriptions = new ResourceSubscriptions({
      open: (id, notifications) => this.#streams.open(id, { notifications, _meta: this.#envelope }),
      close: (id) => this.#streams.close(id),
      respond: (message) => context.deliver(message),
    })
  }

  async send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    if (message.method === 'initialize' && wire.isRequest(message)) return this.#discover(message, options)
    if (this.#era !== 'modern') return this.#context.send(message, options)
    if (wire.isRequest(message)) return this.#request(message, options)
    // In the stateless revision clients send one notification, and no responses.
    if (message.method === 'notifications/cancelled') return this.#context.send(message, options)
    if (message.method === 'notifications/initialized') this.#subscriptions.subscribeToLists(this.#capabilities)
  }

  receive(message: WireMessage, extra: unknown): void {
    if (this.#initialize !== undefined && message.id === this.#initialize.discoverId)
      return this.#discovered(this.#initialize, message)
    if (this.#timedOutId !== undefined && message.id === this.#timedOutId) return
    if (this.#era !== 'modern') return this.#context.deliver(message, extra)
    if (wire.isRequest(message)) return this.#context.report(outOfRevision(message))
    if (wire.isResponse(message)) this.#streams.responded(message.id)
    if (!this.#subscriptions.receive(message)) this.#context.deliver(message, extra)
  }

  setProtocolVersion(version: string, inner: (version: string) => void): void {
    inner(this.#era === 'modern' ? MODERN_VERSION : version)
  }

  closed(): void {
    this.#endProbe()
    this.#subscriptions.stop()
    this.#streams.abortAll()
    this.#era = 'unknown'
  }

  async #discover(message: wire.WireRequest, options: SendOptions | undefined): Promise<void> {
    const { clientInfo, capabilities } = wire.paramsOf(message)
    this.#envelope = {
      [META.version]: MODERN_VERSION,
      [META.client]: clientInfo,
      [META.capabilities]: isObject(capabilities) ? capabilities : {},
    }
    const id = wire.mintId()
    this.#initialize = { ...message, discoverId: id }
    if (this.#probeMs !== undefined) this.#probeTimer = setTimeout(() => this.#probeTimedOut(), this.#probeMs)
    try {
      const params = { _meta: this.#envelope }
      await this.#context.send({ jsonrpc: '2.0', id, method: 'server/discover', params }, options)
    } catch (error) {
      const isOpen = this.#initialize?.discoverId === id
      if (isOpen) this.#endProbe()
      if (!isOpen || !isRefusal(error)) throw error
      await this.#goLegacy(message, options)
    }
  }

  #discovered(initialize: wire.WireRequest, message: WireMessage): void {
    this.#endProbe()
    const { result, error } = message
    if (isObject(result)) return this.#goModern(initialize, result)
    if (isObject(error) && MODERN_ERRORS.has(error['code']))
      return this.#context.deliver({ ...message, id: initialize.id })
    this.#initializeLegacy(initialize)
  }

  /** Servers of the session era may ignore what comes before `initialize`. */
  #probeTimedOut(): void {
    const initialize = this.#initialize
    if (initialize === undefined) return
    this.#timedOutId = initialize.discoverId
    this.#initializeLegacy(initialize)
  }

  #initializeLegacy(initialize: wire.WireRequest): void {
    this.#goLegacy(initialize, undefined).catch((cause: unknown) => {
      const sentence = 'The request "initialize" could not be sent to the server.'
      this.#context.deliver(
        wire.errorMessage(initialize.id, CODES.INTERNAL_ERROR, sentence, { code: 'CONNECT_FAILED', cause }),
      )
    })
  }

  #goModern(initialize: wire.WireRequest, discovered: Json): void {
    const { capabilities, instructions, _meta } = discovered
    this.#era = 'modern'
    this.#capabilities = isObject(capabilities) ? capabilities : {}
    const serverInfo = (isObject(_meta) && _meta[META.server]) || { name: 'unnamed', version: '' }
    this.#context.deliver(
      wire.resultMessage(initialize.id, {
        protocolVersion: wire.paramsOf(initialize)['protocolVersion'],
        capabilities: this.#capabilities,
        serverInfo,
        ...(instructions !== undefined && { instructions }),
      }),
    )
  }

  async #goLegacy({ id, params }: WireMessage, options: SendOptions | undefined): Promise<void> {
    this.#endProbe()
    this.#era = 'legacy'
    await this.#context.send({ jsonrpc: '2.0', id, method: 'initialize', params } as WireMessage, options)
  }

  /** `server/discover` is settled. */
  #endProbe(): void {
    clearTimeout(this.#probeTimer)
    this.#initialize = undefined
  }

  async #request(message: wire.WireRequest, options: SendOptions | undefined): Promise<void> {
    const { id, method } = message
    const { level, uri } = wire.paramsOf(message)
    switch (method) {
      case 'ping':
        return this.#answer(id)
      case 'logging/setLevel':
        if (!isLogLevel(level))
          return this.#context.deliver(wire.errorMessage(id, CODES.INVALID_PARAMS, 'There is no such log level.'))
        this.#envelope = { ...this.#envelope, [META.logLevel]: level }
        return this.#answer(id)
      case 'resources/subscribe':
        return this.#subscriptions.subscribe(id, String(uri))
      case 'resources/unsubscribe':
        return this.#subscriptions.unsubscribe(id, String(uri))
      default:
        return this.#context.send(wire.withMeta(message, this.#envelope), options)
    }
  }

  #answer(id: RequestId): void {
    this.#context.deliver(wire.resultMessage(id, {}))
  }
}

function outOfRevision({ method }: wire.WireRequest): ClientError {
  const sentence = `The server's request "${plainLine(method, 60)}" was dropped. Servers have no requests in its protocol revision.`
  return new ClientError('REQUEST_UNRELATED', sentence)
}

/** A server of the session era refuses an unknown request with an HTTP status. A network failure has none. */
function isRefusal(error: unknown): boolean {
  const status = isObject(error) ? error['code'] : undefined
  return typeof status === 'number' && status >= 400 && status < 500
}
