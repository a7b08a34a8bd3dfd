/**
 * Client-side state (SEP-1655): what a server asks a client to keep goes with each request, and is taken from each
 * result, interim ones too. A state that the store refuses, and a store that fails, never break a call.
 *
 * Of calls in parallel the last result wins, name by name. A result waits for its state to be written, so that whoever
 * sees it and calls again sends what it set.
 */
import {
  CLIENT_STATE_EXTENSION,
  isObject,
  type Json,
  STATE_SCOPES,
  type StateScope,
  stateKey,
} from '../protocol/index.ts'
import type { JarChange, JarNews, JarOwner, JarStore } from '../state/index.ts'
import { around, type Ends, type Passage } from './around.ts'
import { type Declare, declaring, extended } from './declare.ts'
import { ClientError } from './errors.ts'
import type { Layer, SendOptions, WireMessage } from './transport.ts'
import { isRequest, uncacheable, withMeta } from './wireMessage.ts'

export interface JarLayerOptions extends JarOwner {
  /** Hears what was refused or evicted. @default nobody */
  onNews?: (news: readonly JarNews[]) => void
}

export function jar(store: JarStore, options: JarLayerOptions): Layer {
  return (transport) => around(transport, (ends) => new JarLayer(ends, store, options))
}

const declare: Declare = declaring((capabilities) =>
  extended(extended(capabilities, 'state', {}), 'extensions', { [CLIENT_STATE_EXTENSION]: {} }),
)

type Kept = Awaited<ReturnType<JarStore['read']>>

class JarLayer implements Passage {
  readonly #ends: Ends
  readonly #store: JarStore
  readonly #owner: JarOwner
  readonly #onNews: JarLayerOptions['onNews']
  /** Messages keep their order although some of them wait for the store. */
  #sending: Promise<unknown> | undefined
  #receiving: Promise<unknown> | undefined

  constructor(ends: Ends, store: JarStore, { server, principal, context, onNews }: JarLayerOptions) {
    this.#ends = ends
    this.#store = store
    this.#owner = { server, principal, context }
    this.#onNews = onNews
  }

  async send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    const before = this.#sending
    if (before === undefined && !isRequest(message)) return this.#ends.send(message, options)
    const turn = this.#ready(message, before)
    this.#sending = turn
    const ready = await turn
    if (this.#sending === turn) this.#sending = undefined
    return this.#ends.send(ready, options)
  }

  receive(message: WireMessage, extra: unknown): void {
    const change = changeIn(message)
    const before = this.#receiving
    if (change === undefined && before === undefined) return this.#ends.deliver(message, extra)
    const turn = this.#taken(change, before).then(() => {
      if (this.#receiving === turn) this.#receiving = undefined
      this.#ends.deliver(change === undefined ? message : uncached(message), extra)
    })
    turn.catch((error: unknown) => this.#ends.report(error as Error))
    this.#receiving = turn
  }

  /** The message as it goes out, when it is its turn. */
  async #ready(message: WireMessage, before: Promise<unknown> | undefined): Promise<WireMessage> {
    const kept = isRequest(message) && message.method !== 'initialize' ? await this.#read() : undefined
    if (before !== undefined) await before
    const declared = declare(message)
    return kept === undefined ? declared : withState(declared, kept)
  }

  async #taken(change: JarChange | undefined, before: Promise<unknown> | undefined): Promise<void> {
    const written = change && this.#write(change)
    await before
    await written
  }

  async #read(): Promise<Kept | undefined> {
    try {
      return await this.#store.read(this.#owner)
    } catch (cause) {
      this.#ends.report(unavailable(cause))
      return undefined
    }
  }

  async #write(change: JarChange): Promise<void> {
    try {
      const news = await this.#store.write(this.#owner, change)
      if (news.length > 0) this.#onNews?.(news)
    } catch (cause) {
      this.#ends.report(unavailable(cause))
    }
  }
}

function withState(message: WireMessage, kept: Kept): WireMessage {
  const filled = STATE_SCOPES.filter((scope) => Object.keys(kept[scope]).length > 0)
  if (filled.length === 0) return message
  return withMeta(message, Object.fromEntries(filled.map((scope) => [stateKey(scope), kept[scope]])))
}

/** What a result sets, as it came. */
function changeIn(message: WireMessage): JarChange | undefined {
  const { result } = message
  if (!isObject(result) || !isObject(result['_meta'])) return undefined
  const session = stateIn(result['_meta'], SESSION_KEYS)
  const server = stateIn(result['_meta'], SERVER_KEYS)
  if (session === undefined && server === undefined) return undefined
  return { ...(session !== undefined && { session }), ...(server !== undefined && { server }) }
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
  return { ...message, result: uncacheable(message['result'] as Json) }
}

function unavailable(cause: unknown): ClientError {
  return new ClientError('JAR_UNAVAILABLE', 'The state kept for a server could not be read or written.', { cause })
}
