/**
 * The one way a layer is made: a transport around a transport. The outer one is the inner one in everything but what
 * the layer does with messages: session id, protocol version, pid, stderr, private fields and class stay what they are,
 * because every other member is the inner one's own.
 *
 * Messages pass from layer to layer by plain calls; a proxy stands only where somebody else reads or sets a member.
 */
import type { Layer, SendOptions, Transport, WireMessage } from './transport.ts'

/** The two ends of a layer. */
export interface LayerContext {
  /** Sends on, towards the server. */
  send(message: WireMessage, options?: SendOptions): Promise<void>
  /** Hands on, towards the client. */
  deliver(message: WireMessage, extra?: unknown): void
  /** Tells the host what is the answer to no request. */
  report(error: Error): void
}

/** What a layer does; what it leaves out passes untouched. */
export interface LayerHandlers {
  send?(message: WireMessage, options: SendOptions | undefined): Promise<void>
  receive?(message: WireMessage, extra: unknown): void
  /** Before the inner transport starts, and around it. */
  start?(inner: () => Promise<void>): Promise<void>
  setProtocolVersion?(version: string, inner: (version: string) => void): void
  /** The connection is over: nothing more comes or goes. `isLost` where it was not ended from this side. */
  closed?(isLost: boolean): void
}

export function createLayer<T extends object>(inner: T, open: (ends: LayerContext) => LayerHandlers): T {
  const shell = new LayeredTransport(inner as T & Transport, open)
  const outer = new Proxy(inner, {
    get: (_, member) => shell.read(member),
    set: (_, member, value: unknown) => shell.write(member, value),
  })
  shells.set(outer, shell)
  return outer
}

/** The transport that all layers of a connection are around; the given one where it has no layers. */
export function innermost(transport: object): object {
  return shells.get(transport)?.core.transport ?? transport
}

/** What is inside each transport made here. */
const shells = new WeakMap<object, LayeredTransport>()

type MemberKey = string | symbol
type Handlers = Pick<Transport, 'onmessage' | 'onclose' | 'onerror'>

/** What layers may have in place of the transport's own; all its other members are reached without a look at layers. */
const OURS: ReadonlySet<MemberKey> = new Set([
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
  readonly core: BaseTransport
  readonly send: Transport['send']
  read(member: MemberKey): unknown
  write(member: MemberKey, value: unknown): boolean
}

/** The transport that all layers are around. */
class BaseTransport implements InnerTransport {
  readonly core = this
  readonly transport: Transport
  // Private fields are reachable only through the transport itself; one function for each method keeps identities.
  readonly #bound = new WeakMap<object, unknown>()
  readonly #original = new WeakMap<object, unknown>()

  constructor(transport: Transport) {
    this.transport = transport
  }

  /** Whatever a transport does when it fails: for layers that is a promise. */
  send(message: WireMessage, options?: SendOptions): Promise<void> {
    try {
      return Promise.resolve(this.transport.send(message, options))
    } catch (error) {
      return failed(error)
    }
  }

  read(member: MemberKey): unknown {
    const value: unknown = Reflect.get(this.transport, member, this.transport)
    if (typeof value !== 'function' || member === 'constructor' || isHandler(member)) return value
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

async function failed(error: unknown): Promise<never> {
  throw error
}

/** A transport with one layer around it. */
class LayeredTransport implements InnerTransport {
  readonly core: BaseTransport
  send: Transport['send']
  readonly #inside: InnerTransport
  /** The methods that the layer has in place of the inner transport's. */
  readonly #own: ReadonlySet<MemberKey>
  /** These, and what the client has put here: its handlers, and methods it replaced. */
  readonly #seen: Map<MemberKey, unknown>
  readonly #handlers: Handlers = {}
  /** What stands in the way to these. It is put in only while there are any: transports keep early messages for them. */
  readonly #ours: Handlers

  constructor(inner: Transport, open: (ends: LayerContext) => LayerHandlers) {
    const inside = shells.get(inner) ?? new BaseTransport(inner)
    const ends: LayerContext = {
      send: (message, options) => inside.send(message, options),
      deliver: (message, extra) => this.#handlers.onmessage?.(message, extra),
      report: (error) => this.#handlers.onerror?.(error),
    }
    const passage = open(ends)
    const own = ownMethods(inner, ends, passage)
    this.core = inside.core
    this.send = own.send ?? ends.send
    this.#inside = inside
    this.#own = new Set(Object.keys(own))
    this.#seen = new Map(Object.entries(own))
    this.#ours = handlersFor(passage, this.#handlers)
  }

  read(member: MemberKey): unknown {
    if (!OURS.has(member)) return this.core.read(member)
    const value = this.#seen.get(member)
    return value !== undefined || this.#seen.has(member) ? value : this.#inside.read(member)
  }

  write(member: MemberKey, value: unknown): boolean {
    if (isHandler(member)) {
      this.#seen.set(member, value)
      const isThere = typeof value === 'function'
      Reflect.set(this.#handlers, member, isThere ? value : undefined)
      return this.#inside.write(member, isThere ? (this.#ours[member] ?? value) : undefined)
    }
    if (!this.#own.has(member)) return this.#inside.write(member, value)
    this.#seen.set(member, value)
    if (member === 'send') this.send = value as Transport['send']
    return true
  }
}

function isHandler(member: MemberKey): member is keyof Handlers {
  return member === 'onmessage' || member === 'onclose' || member === 'onerror'
}

function ownMethods(transport: Transport, ends: LayerContext, passage: LayerHandlers): Partial<Transport> {
  const { send, start, setProtocolVersion, closed } = passage
  const methods: Partial<Transport> = {}
  if (send !== undefined) {
    // Several messages at once are no part of the revisions that have layers; they pass.
    methods.send = (message, options) =>
      Array.isArray(message) ? ends.send(message, options) : send.call(passage, message, options)
  }
  if (start !== undefined) methods.start = () => start.call(passage, () => transport.start())
  if (setProtocolVersion !== undefined && transport.setProtocolVersion !== undefined) {
    const inner = (version: string): void => transport.setProtocolVersion?.(version)
    methods.setProtocolVersion = (version) => setProtocolVersion.call(passage, version, inner)
  }
  if (closed !== undefined) {
    methods.close = async () => {
      closed.call(passage, false)
      await transport.close()
    }
  }
  return methods
}

/** Ours, which hand on to the client's. */
function handlersFor(passage: LayerHandlers, handlers: Handlers): Handlers {
  const { receive, closed } = passage
  return {
    ...(receive !== undefined && { onmessage: receive.bind(passage) }),
    ...(closed !== undefined && {
      onclose: () => {
        closed.call(passage, true)
        handlers.onclose?.()
      },
    }),
  }
}

/**
 * Layers in one, the outermost first: `compose(a, b)(transport)` is `a(b(transport))`.
 *
 * The order that makes sense, from the client to the wire, and why:
 *
 *     rounds   begins new requests, so every other layer must see them
 *     tasks    the same, for calls that go on as tasks
 *     scope    judges what the server asks by the requests that are really under way
 *     jar      sends state with each of these requests, and takes it from each result, interim ones too
 *     deadline sees each message when it really goes and comes; above it a result may still wait for its state
 *     modern   writes requests in the stateless form; above it everything looks like a session
 *     echo     belongs to the wire: around `fetch`, on the lines of a process, or, last of the layers, in `_meta`
 */

export function compose(...layers: readonly Layer[]): Layer {
  return (transport) => layers.reduceRight((inner, layer) => layer(inner), transport)
}
