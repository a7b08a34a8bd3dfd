/**
 * Layers: transports that wrap a transport. The outer transport differs from the inner one only in how it handles
 * messages. Session id, protocol version, pid, stderr, private fields and class are those of the inner one, because a
 * proxy passes every other member on to it.
 *
 * Messages go from layer to layer by plain method calls. The proxy is used only if other code, such as the SDK's
 * client, reads or sets a member.
 */
import type { Layer, SendOptions, Transport, WireMessage } from './transport.ts'

/** A layer's access to its two neighbours. */
export interface LayerContext {
  /** Sends a message to the next layer towards the server. */
  send(message: WireMessage, options?: SendOptions): Promise<void>
  /** Delivers a message to the next layer towards the client. */
  deliver(message: WireMessage, extra?: unknown): void
  /** Gives the client's `onerror` an error that is not the answer to a request. */
  report(error: Error): void
}

/** What a layer does with messages. Whatever has no handler passes unchanged. */
export interface LayerHandlers {
  send?(message: WireMessage, options: SendOptions | undefined): Promise<void>
  receive?(message: WireMessage, extra: unknown): void
  /** Replaces `start`, and has to call `inner`. */
  start?(inner: () => Promise<void>): Promise<void>
  setProtocolVersion?(version: string, inner: (version: string) => void): void
  /** The connection was closed. `isLost` is true where the client did not close it. May be called twice. */
  closed?(isLost: boolean): void
}

/** Wraps one layer around a transport. The result has the type of `inner`. */
export function createLayer<T extends object>(inner: T, open: (context: LayerContext) => LayerHandlers): T {
  const layered = new LayeredTransport(inner as T & Transport, open)
  const outer = new Proxy(inner, {
    get: (_, member) => layered.read(member),
    set: (_, member, value: unknown) => layered.write(member, value),
  })
  layeredTransports.set(outer, layered)
  return outer
}

/**
 * Makes one layer of several, the outermost first: `compose(a, b)(transport)` is `a(b(transport))`.
 *
 * The order that makes sense, from the client to the server, and why:
 *
 *     rounds   sends requests of its own, so every other layer must see them
 *     tasks    the same, for calls that become tasks
 *     scope    judges the server's requests by the client's requests that are really under way
 *     jar      adds state to each of these requests, and takes it from each result, interim results included
 *     deadline sees each message when it is really sent and received; above it a result may still wait for the jar
 *     echo     works on the bytes: around `fetch`, on the lines of a process, or, as the last layer, in `_meta`
 */
export function compose(...layers: readonly Layer[]): Layer {
  return (transport) => layers.reduceRight((inner, layer) => layer(inner), transport)
}

/** The transport under all layers of a connection; the given one where it has no layers. */
export function innermost(transport: object): object {
  return layeredTransports.get(transport)?.base.transport ?? transport
}

/** The layer of each proxy. If another layer wraps the proxy, it calls this layer directly and skips the proxy. */
const layeredTransports = new WeakMap<object, LayeredTransport>()

type MemberKey = string | symbol
type Callbacks = Pick<Transport, 'onmessage' | 'onclose' | 'onerror'>

/** The members that a layer may replace. All others are read directly from the base transport. */
const REPLACEABLE: ReadonlySet<MemberKey> = new Set([
  'send',
  'start',
  'close',
  'setProtocolVersion',
  'onmessage',
  'onclose',
  'onerror',
])

/** A transport as the layer around it uses it. */
interface InnerTransport {
  readonly base: BaseTransport
  readonly send: Transport['send']
  read(member: MemberKey): unknown
  write(member: MemberKey, value: unknown): boolean
}

/** The transport under all layers. */
class BaseTransport implements InnerTransport {
  readonly base = this
  readonly transport: Transport
  // A method must run on the transport itself to reach its private fields. Each method is bound once, so that reading
  // it twice gives the same function.
  readonly #bound = new WeakMap<object, unknown>()
  readonly #original = new WeakMap<object, unknown>()

  constructor(transport: Transport) {
    this.transport = transport
  }

  /** Gives layers a promise in any case, also if the transport throws or gives none. */
  send(message: WireMessage, options?: SendOptions): Promise<void> {
    try {
      return Promise.resolve(this.transport.send(message, options))
    } catch (error) {
      return rejected(error)
    }
  }

  read(member: MemberKey): unknown {
    const value: unknown = Reflect.get(this.transport, member, this.transport)
    if (typeof value !== 'function' || member === 'constructor' || isCallback(member)) return value
    if (!this.#bound.has(value)) {
      const method: unknown = value.bind(this.transport)
      this.#bound.set(value, method)
      this.#original.set(method as object, value)
    }
    return this.#bound.get(value)
  }

  write(member: MemberKey, value: unknown): boolean {
    const plain = typeof value === 'function' ? (this.#original.get(value) ?? value) : value
    return Reflect.set(this.transport, member, plain, this.transport)
  }
}

async function rejected(error: unknown): Promise<never> {
  throw error
}

/** A transport with one layer around it. */
class LayeredTransport implements InnerTransport {
  readonly base: BaseTransport
  send: Transport['send']
  readonly #inner: InnerTransport
  /** The names of the methods that the layer replaces. */
  readonly #replaced: ReadonlySet<MemberKey>
  /** What is read here: these methods, the client's callbacks, and whatever the client put in place of a method. */
  readonly #members: Map<MemberKey, unknown>
  /** The client's callbacks. */
  readonly #callbacks: Callbacks = {}
  /** The layer's callbacks. They are set on the inner transport only while the client has set its own. */
  readonly #own: Callbacks

  constructor(inner: Transport, open: (context: LayerContext) => LayerHandlers) {
    const next = layeredTransports.get(inner) ?? new BaseTransport(inner)
    const context: LayerContext = {
      send: (message, options) => next.send(message, options),
      deliver: (message, extra) => this.#callbacks.onmessage?.(message, extra),
      report: (error) => this.#callbacks.onerror?.(error),
    }
    const handlers = open(context)
    const methods = methodsOf(inner, context, handlers)
    this.base = next.base
    this.send = methods.send ?? context.send
    this.#inner = next
    this.#replaced = new Set(Object.keys(methods))
    this.#members = new Map(Object.entries(methods))
    this.#own = callbacksOf(handlers, this.#callbacks)
  }

  read(member: MemberKey): unknown {
    if (!REPLACEABLE.has(member)) return this.base.read(member)
    const value = this.#members.get(member)
    return value !== undefined || this.#members.has(member) ? value : this.#inner.read(member)
  }

  write(member: MemberKey, value: unknown): boolean {
    if (isCallback(member)) {
      this.#members.set(member, value)
      const isSet = typeof value === 'function'
      Reflect.set(this.#callbacks, member, isSet ? value : undefined)
      // Without a callback some transports keep early messages. So if the client has no callback, the layers below have
      // none either.
      return this.#inner.write(member, isSet ? (this.#own[member] ?? value) : undefined)
    }
    if (!this.#replaced.has(member)) return this.#inner.write(member, value)
    this.#members.set(member, value)
    if (member === 'send') this.send = value as Transport['send']
    return true
  }
}

function isCallback(member: MemberKey): member is keyof Callbacks {
  return member === 'onmessage' || member === 'onclose' || member === 'onerror'
}

/** The methods that handlers put in place of the transport's. */
function methodsOf(transport: Transport, context: LayerContext, handlers: LayerHandlers): Partial<Transport> {
  const { send, start, setProtocolVersion, closed } = handlers
  const methods: Partial<Transport> = {}
  if (send !== undefined) {
    // A batch passes unchanged, because the supported revisions have no batches.
    methods.send = (message, options) =>
      Array.isArray(message) ? context.send(message, options) : send.call(handlers, message, options)
  }
  if (start !== undefined) methods.start = () => start.call(handlers, () => transport.start())
  if (setProtocolVersion !== undefined && transport.setProtocolVersion !== undefined) {
    const inner = (version: string): void => transport.setProtocolVersion?.(version)
    methods.setProtocolVersion = (version) => setProtocolVersion.call(handlers, version, inner)
  }
  if (closed !== undefined) {
    methods.close = async () => {
      closed.call(handlers, false)
      await transport.close()
    }
  }
  return methods
}

/** The callbacks of handlers. `onclose` then calls the client's. */
function callbacksOf(handlers: LayerHandlers, callbacks: Callbacks): Callbacks {
  const { receive, closed } = handlers
  return {
    ...(receive !== undefined && { onmessage: receive.bind(handlers) }),
    ...(closed !== undefined && {
      onclose: () => {
        closed.call(handlers, true)
        callbacks.onclose?.()
      },
    }),
  }
}
