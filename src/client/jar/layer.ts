/**
 * Client-side state (SEP-1655): the state that a server keeps with the client is added to each request, and taken from
 * each result, interim results included. A call does not fail because the store refuses a state, or fails itself.
 *
 * Of parallel calls the last result wins, for each name in the state. A result is delivered after its state was written,
 * so that a call that follows it sends that state.
 */
import {
  assertOptionNames,
  CLIENT_STATE_EXTENSION,
  isObject,
  type Json,
  type OptionNames,
  stateKey,
  type StateScope,
} from '../../protocol/index.ts'
import type { JarChange, JarContents, JarNews, JarOwner, JarStore } from '../../state/jar/index.ts'
import { ClientError } from '../errors.ts'
import { type Declare, declaring, extended } from '../layer/capabilities.ts'
import { createLayer, type LayerContext, type LayerHandlers } from '../layer/layer.ts'
import { isRequest, uncacheable, withMeta } from '../layer/message.ts'
import type { Layer, SendOptions, WireMessage } from '../layer/transport.ts'

export interface JarLayerOptions extends JarOwner {
  /** Called with what the store refused or evicted. @default nobody */
  onNews?: (news: readonly JarNews[]) => void
}

const JAR_OPTIONS: OptionNames<JarLayerOptions> = { principal: true, server: true, context: true, onNews: true }

/** A layer that sends servers the state that they keep with the client, and stores what they set (SEP-1655). */
export function jar(store: JarStore, options: JarLayerOptions): Layer {
  assertOptionNames(options, JAR_OPTIONS, 'jar()')
  return (transport) => createLayer(transport, (context) => new JarLayer(context, store, options))
}

const declare: Declare = declaring((capabilities) =>
  extended(extended(capabilities, 'state', {}), 'extensions', { [CLIENT_STATE_EXTENSION]: {} }),
)

type Contents = JarContents | undefined | Promise<JarContents | undefined>

class JarLayer implements LayerHandlers {
  readonly #context: LayerContext
  readonly #store: JarStore
  readonly #owner: JarOwner
  readonly #onNews: JarLayerOptions['onNews']
  /** Some messages wait for the store, and all keep their order. */
  readonly #sending = new Fifo()
  readonly #receiving = new Fifo()

  constructor(context: LayerContext, store: JarStore, options: JarLayerOptions) {
    this.#context = context
    this.#store = store
    this.#owner = { server: options.server, principal: options.principal, context: options.context }
    this.#onNews = options.onNews
  }

  send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    const kept = isRequest(message) && message.method !== 'initialize' ? this.#read() : undefined
    const isImmediate = this.#sending.isEmpty && !(kept instanceof Promise)
    return isImmediate
      ? this.#context.send(outgoing(message, kept), options)
      : this.#sendInOrder(message, options, kept)
  }

  receive(message: WireMessage, extra: unknown): void {
    const change = changeIn(message)
    if (change === undefined && this.#receiving.isEmpty) return this.#context.deliver(message, extra)
    this.#deliverInOrder(message, extra, change).catch((error: unknown) => this.#context.report(error as Error))
  }

  /** The state for the server; undefined if the store fails. */
  #read(): Contents {
    try {
      const kept = this.#store.read(this.#owner)
      return kept instanceof Promise ? kept.catch((cause: unknown) => this.#failed(cause)) : kept
    } catch (cause) {
      return this.#failed(cause)
    }
  }

  #failed(cause: unknown): undefined {
    this.#context.report(unavailable(cause))
  }

  async #sendInOrder(message: WireMessage, options: SendOptions | undefined, reading: Contents): Promise<void> {
    await this.#sending.inTurn(reading, (kept) => this.#context.send(outgoing(message, kept), options))
  }

  async #deliverInOrder(message: WireMessage, extra: unknown, change: JarChange | undefined): Promise<void> {
    await this.#receiving.inTurn(change && this.#write(change), () =>
      this.#context.deliver(change === undefined ? message : uncached(message), extra),
    )
  }

  async #write(change: JarChange): Promise<void> {
    try {
      const news = await this.#store.write(this.#owner, change)
      if (news.length > 0) this.#onNews?.(news)
    } catch (cause) {
      this.#failed(cause)
    }
  }
}

function outgoing(message: WireMessage, kept: JarContents | undefined): WireMessage {
  const declared = declare(message)
  return kept === undefined ? declared : withState(declared, kept)
}

function withState(message: WireMessage, { session, server }: JarContents): WireMessage {
  const hasSession = Object.keys(session).length > 0
  const hasServer = Object.keys(server).length > 0
  if (!hasSession && !hasServer) return message
  return withMeta(message, {
    ...(hasSession && { [stateKey('session')]: session }),
    ...(hasServer && { [stateKey('server')]: server }),
  })
}

/** The state that a result sets, unchecked: the store checks it. */
function changeIn(message: WireMessage): JarChange | undefined {
  const result = resultIn(message)
  if (!isObject(result) || !isObject(result['_meta'])) return undefined
  const session = stateIn(result['_meta'], SESSION_KEYS)
  const server = stateIn(result['_meta'], SERVER_KEYS)
  if (session === undefined && server === undefined) return undefined
  return { ...(session !== undefined && { session }), ...(server !== undefined && { server }) }
}

/** The result of a message. That of a finished task is inside the task, in a response or in a notification. */
function resultIn({ method, result, params }: WireMessage): unknown {
  const task = method === 'notifications/tasks' ? params : result
  return isObject(task) && task['status'] === 'completed' && isObject(task['result']) ? task['result'] : result
}

/** SEP-1655 also writes the keys as http:// addresses. */
const keysOf = (scope: StateScope): readonly [string, string] => [stateKey(scope), `http://${stateKey(scope)}`]
const SESSION_KEYS = keysOf('session')
const SERVER_KEYS = keysOf('server')

function stateIn(meta: Json, [key, address]: readonly [string, string]): unknown {
  return meta[key] ?? meta[address]
}

/** A result that sets state must not be repeated from the client's cache. */
function uncached(message: WireMessage): WireMessage {
  const { result } = message
  return isObject(result) ? { ...message, result: uncacheable(result) } : message
}

function unavailable(cause: unknown): ClientError {
  return new ClientError('JAR_UNAVAILABLE', 'The state kept for a server could not be read or written.', { cause })
}

/** A FIFO queue of messages. Each message may wait for its own work. */
class Fifo {
  #last: Promise<void> = Promise.resolve()
  #length = 0

  get isEmpty(): boolean {
    return this.#length === 0
  }

  /** Handles the value of `ready` after all earlier entries have left the queue. */
  async inTurn<Ready, Result>(
    ready: Ready | Promise<Ready>,
    act: (value: Ready) => Result | Promise<Result>,
  ): Promise<Result> {
    const before = this.#last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last = promise
    this.#length++
    const value = await ready
    await before
    this.#length--
    resolve()
    return act(value)
  }
}
