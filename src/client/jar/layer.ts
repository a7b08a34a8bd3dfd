/**
 * Client-side state (SEP-1655): what a server asks a client to keep goes with each request, and is taken from each
 * result, interim ones too. A state that the store refuses, and a store that fails, never break a call.
 *
 * Of calls in parallel the last result wins, name by name. A result waits for its state to be written, so that whoever
 * sees it and calls again sends what it set.
 */
import { CLIENT_STATE_EXTENSION, isObject, type Json, stateKey, type StateScope } from '../../protocol/index.ts'
import type { JarChange, JarContents, JarNews, JarOwner, JarStore } from '../../state/jar/index.ts'
import { ClientError } from '../errors.ts'
import { type Declare, declaring, extended } from '../layer/capabilities.ts'
import { createLayer, type LayerContext, type LayerHandlers } from '../layer/layer.ts'
import { isRequest, uncacheable, withMeta } from '../layer/message.ts'
import type { Layer, SendOptions, WireMessage } from '../layer/transport.ts'

export interface JarLayerOptions extends JarOwner {
  /** Hears what was refused or evicted. @default nobody */
  onNews?: (news: readonly JarNews[]) => void
}

export function jar(store: JarStore, options: JarLayerOptions): Layer {
  return (transport) => createLayer(transport, (ends) => new JarLayer(ends, store, options))
}

const declare: Declare = declaring((capabilities) =>
  extended(extended(capabilities, 'state', {}), 'extensions', { [CLIENT_STATE_EXTENSION]: {} }),
)

type Kept = JarContents | undefined | Promise<JarContents | undefined>

class JarLayer implements LayerHandlers {
  readonly #ends: LayerContext
  readonly #store: JarStore
  readonly #owner: JarOwner
  readonly #onNews: JarLayerOptions['onNews']
  /** Messages keep their order although some of them wait for the store. */
  readonly #sending = new Turns()
  readonly #receiving = new Turns()

  constructor(ends: LayerContext, store: JarStore, { server, principal, context, onNews }: JarLayerOptions) {
    this.#ends = ends
    this.#store = store
    this.#owner = { server, principal, context }
    this.#onNews = onNews
  }

  send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    const kept = isRequest(message) && message.method !== 'initialize' ? this.#read() : undefined
    const isAtOnce = this.#sending.areFree && !(kept instanceof Promise)
    return isAtOnce ? this.#ends.send(outgoing(message, kept), options) : this.#sendInTurn(message, options, kept)
  }

  receive(message: WireMessage, extra: unknown): void {
    const change = changeIn(message)
    if (change === undefined && this.#receiving.areFree) return this.#ends.deliver(message, extra)
    this.#deliverInTurn(message, extra, change).catch((error: unknown) => this.#ends.report(error as Error))
  }

  /** Nothing, where the store fails. */
  #read(): Kept {
    try {
      const kept = this.#store.read(this.#owner)
      return kept instanceof Promise ? kept.catch((cause: unknown) => this.#failed(cause)) : kept
    } catch (cause) {
      return this.#failed(cause)
    }
  }

  #failed(cause: unknown): undefined {
    this.#ends.report(unavailable(cause))
  }

  async #sendInTurn(message: WireMessage, options: SendOptions | undefined, reading: Kept): Promise<void> {
    const turn = this.#sending.take()
    const kept = await reading
    if (!this.#sending.has(turn)) await this.#sending.comes(turn)
    this.#sending.pass()
    await this.#ends.send(outgoing(message, kept), options)
  }

  async #deliverInTurn(message: WireMessage, extra: unknown, change: JarChange | undefined): Promise<void> {
    const turn = this.#receiving.take()
    if (change !== undefined) await this.#write(change)
    if (!this.#receiving.has(turn)) await this.#receiving.comes(turn)
    this.#receiving.pass()
    this.#ends.deliver(change === undefined ? message : uncached(message), extra)
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

/** What a result sets, as it came. */
function changeIn(message: WireMessage): JarChange | undefined {
  const result = resultIn(message)
  if (!isObject(result) || !isObject(result['_meta'])) return undefined
  const session = stateIn(result['_meta'], SESSION_KEYS)
  const server = stateIn(result['_meta'], SERVER_KEYS)
  if (session === undefined && server === undefined) return undefined
  return { ...(session !== undefined && { session }), ...(server !== undefined && { server }) }
}

/** The result of a task stands in what is told about the task, as an answer or by itself. */
function resultIn({ method, result, params }: WireMessage): unknown {
  const told = method === 'notifications/tasks' ? params : result
  return isObject(told) && told['status'] === 'completed' && isObject(told['result']) ? told['result'] : result
}

/** The seed also spells the keys as http:// addresses. */
const keysOf = (scope: StateScope): readonly [string, string] => [stateKey(scope), `http://${stateKey(scope)}`]
const SESSION_KEYS = keysOf('session')
const SERVER_KEYS = keysOf('server')

function stateIn(meta: Json, [key, spelled]: readonly [string, string]): unknown {
  return meta[key] ?? meta[spelled]
}

/** A result that sets state is of this moment: it must not be given again from a cache. */
function uncached(message: WireMessage): WireMessage {
  const { result } = message
  return isObject(result) ? { ...message, result: uncacheable(result) } : message
}

function unavailable(cause: unknown): ClientError {
  return new ClientError('JAR_UNAVAILABLE', 'The state kept for a server could not be read or written.', { cause })
}

/** Who came first goes first, although each may have to get ready before. Nobody waits where nobody is ahead. */
class Turns {
  #taken = 0
  #current = 0
  readonly #waiting = new Map<number, () => void>()

  /** Whether nobody has a turn. */
  get areFree(): boolean {
    return this.#taken === this.#current
  }

  /** A turn behind all that were taken before. Each must be ended by `pass`. */
  take(): number {
    return this.#taken++
  }

  has(turn: number): boolean {
    return turn === this.#current
  }

  /** Comes back when it is this one's turn. */
  comes(turn: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(turn, resolve))
  }

  /** The turn goes to the next one, who goes when the work at hand is done. */
  pass(): void {
    this.#current++
    const go = this.#waiting.get(this.#current)
    if (go === undefined) return
    this.#waiting.delete(this.#current)
    go()
  }
}
