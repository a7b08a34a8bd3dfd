/**
 * Client-side state (SEP-1655): what a server asks a client to keep goes with each request, and is taken from each
 * result, interim ones too. A state that the store refuses, and a store that fails, never break a call.
 *
 * Of calls in parallel the last result wins, name by name. A result waits for its state to be written, so that whoever
 * sees it and calls again sends what it set.
 */
import { CLIENT_STATE_EXTENSION, isObject, type Json, STATE_SCOPES, stateKey } from '../protocol/index.ts'
import type { JarChange, JarNews, JarOwner, JarStore } from '../state/index.ts'
import { around, type Ends, type Passage } from './around.ts'
import { type Declare, declaring, extended } from './declare.ts'
import { ClientError } from './errors.ts'
import type { Layer, SendOptions, WireMessage } from './transport.ts'
import { isAnswer, isRequest, metaIn, uncacheable, withMeta } from './wireMessage.ts'

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
    const prepared = isRequest(message) ? this.#withState(declare(message)) : message
    const turn = after(this.#sending, prepared)
    this.#sending = turn
    const ready = await turn
    if (this.#sending === turn) this.#sending = undefined
    await this.#ends.send(ready, options)
  }

  receive(message: WireMessage, extra: unknown): void {
    const change = changeIn(message)
    const before = this.#receiving
    if (change === undefined && before === undefined) return this.#ends.deliver(message, extra)
    const turn = after(before, change && this.#write(change)).then(() => {
      if (this.#receiving === turn) this.#receiving = undefined
      this.#ends.deliver(change === undefined ? message : uncached(message), extra)
    })
    turn.catch((error: unknown) => this.#ends.report(error as Error))
    this.#receiving = turn
  }

  async #withState(message: WireMessage): Promise<WireMessage> {
    if (message.method === 'initialize') return message
    try {
      const kept = await this.#store.read(this.#owner)
      const filled = STATE_SCOPES.filter((scope) => Object.keys(kept[scope]).length > 0)
      if (filled.length === 0) return message
      return withMeta(message, Object.fromEntries(filled.map((scope) => [stateKey(scope), kept[scope]])))
    } catch (cause) {
      this.#ends.report(unavailable(cause))
      return message
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

/** A value that waits its turn. Nothing of what went before stays with it. */
async function after<T>(before: Promise<unknown> | undefined, value: T): Promise<Awaited<T>> {
  await before
  return await value
}

/** What a result sets, as it came. The seed also spells the keys as http:// addresses. */
function changeIn(message: WireMessage): JarChange | undefined {
  const result = isAnswer(message) ? message['result'] : undefined
  if (!isObject(result) || !isObject(result['_meta'])) return undefined
  const meta = metaIn(result)
  const set = STATE_SCOPES.flatMap((scope) => {
    const key = stateKey(scope)
    const state = meta[key] ?? meta[`http://${key}`]
    return state === undefined ? [] : [[scope, state] as const]
  })
  return set.length === 0 ? undefined : Object.fromEntries(set)
}

/** A result that sets state is of this moment: it must not be given again from a cache. */
function uncached(message: WireMessage): WireMessage {
  return { ...message, result: uncacheable(message['result'] as Json) }
}

function unavailable(cause: unknown): ClientError {
  return new ClientError('JAR_UNAVAILABLE', 'The state kept for a server could not be read or written.', { cause })
}
