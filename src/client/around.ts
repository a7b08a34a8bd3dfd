/**
 * The one way a layer is made: a transport around a transport. The outer one is the inner one in everything but what
 * the layer does with messages: session id, protocol version, pid, stderr, private fields and class stay what they are,
 * because every other member is the inner one's own.
 */
import type { SendOptions, Transport, WireMessage } from './transport.ts'

/** The two ends of a layer. */
export interface Ends {
  /** Sends on, towards the server. */
  send(message: WireMessage, options?: SendOptions): Promise<void>
  /** Hands on, towards the client. */
  deliver(message: WireMessage, extra?: unknown): void
  /** Tells the host what is the answer to no request. */
  report(error: Error): void
}

/** What a layer does; what it leaves out passes untouched. */
export interface Passage {
  send?(message: WireMessage, options: SendOptions | undefined): Promise<void>
  receive?(message: WireMessage, extra: unknown): void
  /** Before the inner transport starts, and around it. */
  start?(inner: () => Promise<void>): Promise<void>
  setProtocolVersion?(version: string, inner: (version: string) => void): void
  /** The connection is over: nothing more comes or goes. */
  closed?(): void
}

type Member = string | symbol

export function around<T extends object>(inner: T, open: (ends: Ends) => Passage): T {
  const transport = inner as T & Transport
  /** What the client has put on the outer transport: its handlers, and methods it replaced. */
  const outer = new Map<Member, unknown>()
  const passage = open({
    send: (message, options) => transport.send(message, options),
    deliver: (message, extra) => call(outer.get('onmessage'), message, extra),
    report: (error) => call(outer.get('onerror'), error),
  })
  const own = ownMethods(transport, passage)
  const handlers = handlersFor(transport, passage, outer)
  const bound = new WeakMap<object, unknown>()
  const original = new WeakMap<object, unknown>()

  return new Proxy(inner, {
    get(_, member) {
      const set = outer.get(member) ?? own.get(member)
      if (set !== undefined || outer.has(member)) return set
      const value: unknown = Reflect.get(inner, member, inner)
      if (typeof value !== 'function' || member === 'constructor' || handlers.has(member)) return value
      // Private fields are reachable only through the inner transport itself; one function for each keeps identities.
      if (!bound.has(value)) {
        const method: unknown = value.bind(inner)
        bound.set(value, method)
        original.set(method as object, value)
      }
      return bound.get(value)
    },
    set(_, member, value: unknown) {
      const install = handlers.get(member)
      if (install !== undefined) {
        outer.set(member, value)
        install(typeof value === 'function')
        return true
      }
      if (own.has(member)) {
        if (value === own.get(member)) outer.delete(member)
        else outer.set(member, value)
        return true
      }
      const plain = typeof value === 'function' ? (original.get(value) ?? value) : value
      return Reflect.set(inner, member, plain, inner)
    },
  })
}

function ownMethods(transport: Transport, passage: Passage): Map<Member, unknown> {
  const { send, start, setProtocolVersion, closed } = passage
  const methods = new Map<Member, unknown>()
  if (send !== undefined) {
    // Several messages at once are no part of the revisions that have layers; they pass.
    const one = (message: WireMessage, options?: SendOptions): Promise<void> =>
      Array.isArray(message) ? transport.send(message, options) : send.call(passage, message, options)
    methods.set('send', one)
  }
  if (start !== undefined) methods.set('start', () => start.call(passage, () => transport.start()))
  if (setProtocolVersion !== undefined && transport.setProtocolVersion !== undefined) {
    const inner = (version: string): void => transport.setProtocolVersion?.(version)
    methods.set('setProtocolVersion', (version: string) => setProtocolVersion.call(passage, version, inner))
  }
  if (closed !== undefined) {
    methods.set('close', async () => {
      closed.call(passage)
      await transport.close()
    })
  }
  return methods
}

/**
 * For each handler of the client, how to put ours in its place. Ours is there only while the client has one: transports
 * keep early messages for whoever sets the handler.
 */
function handlersFor(
  transport: Transport,
  passage: Passage,
  outer: ReadonlyMap<Member, unknown>,
): Map<Member, (wanted: boolean) => void> {
  const onmessage = (message: WireMessage, extra?: unknown): void =>
    passage.receive === undefined ? call(outer.get('onmessage'), message, extra) : passage.receive(message, extra)
  const onclose = (): void => {
    passage.closed?.()
    call(outer.get('onclose'))
  }
  const onerror = (error: Error): void => call(outer.get('onerror'), error)
  return new Map<Member, (wanted: boolean) => void>([
    ['onmessage', (wanted) => (transport.onmessage = wanted ? onmessage : undefined)],
    ['onclose', (wanted) => (transport.onclose = wanted ? onclose : undefined)],
    ['onerror', (wanted) => (transport.onerror = wanted ? onerror : undefined)],
  ])
}

function call(handler: unknown, ...args: unknown[]): void {
  if (typeof handler === 'function') Reflect.apply(handler, undefined, args)
}
