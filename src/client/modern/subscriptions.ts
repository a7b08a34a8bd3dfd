/**
 * Translates the subscriptions of a session-era client, which are to single resources and to changes of lists, into one
 * `subscriptions/listen`. When they change, a new stream is opened, and the old one is closed once the server has
 * acknowledged the new one.
 */
import {
  backoffMs,
  type BackoffOptions,
  CODES,
  isObject,
  type Json,
  META,
  type RequestId,
} from '../../protocol/index.ts'
import type { LayerContext } from '../layer/layer.ts'
import { errorMessage, metaIn, mintId, paramsOf, resultMessage } from '../layer/message.ts'
import type { WireMessage } from '../layer/transport.ts'

interface SubscriptionActions {
  /** Opens a stream for these notifications. */
  open(id: string, notifications: Json): void
  close(id: string): void
  /** Responds to a request of the client. */
  respond(message: WireMessage): void
}

/** A `resources/subscribe` of the client that has no response yet. */
interface PendingSubscribe {
  readonly id: RequestId
  readonly uri: string
}

/** When a stream ends by itself, a new one is opened after this pause. An acknowledged stream resets it. */
const RECONNECT: BackoffOptions = { firstMs: 1_000, maxMs: 30_000 }

export class ResourceSubscriptions {
  readonly #actions: SubscriptionActions
  readonly #uris = new Set<string>()
  #lists: Json = {}
  /** The ids of open streams, the oldest first. */
  #streams: string[] = []
  #acknowledged: string | undefined
  #pending: PendingSubscribe[] = []
  /** How many streams ended by themselves since one was acknowledged. */
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  constructor(actions: SubscriptionActions) {
    this.#actions = actions
  }

  /** Subscribes to the lists that may change, as the server's capabilities say. */
  subscribeToLists(capabilities: Json): void {
    const lists = ['tools', 'prompts', 'resources'].filter((area) => {
      const declared = capabilities[area]
      return isObject(declared) && declared['listChanged'] === true
    })
    this.#lists = Object.fromEntries(lists.map((area) => [`${area}ListChanged`, true]))
    this.#renew()
  }

  subscribe(id: RequestId, uri: string): void {
    this.#uris.add(uri)
    this.#pending.push({ id, uri })
    this.#renew()
  }

  unsubscribe(id: RequestId, uri: string): void {
    if (this.#uris.delete(uri)) this.#renew()
    this.#actions.respond(resultMessage(id, {}))
  }

  /** Handles a message from the server that is about one of these streams. False if it is for the client. */
  receive(message: WireMessage): boolean {
    const stream = metaIn(paramsOf(message))[META.subscription]
    if (message.method === 'notifications/subscriptions/acknowledged')
      return this.#streamAcknowledged(stream, paramsOf(message))
    // The end of the stream, or the response before it, follows.
    if (message.method === 'notifications/cancelled') return stream !== undefined
    // The layer `tasks` has streams of its own.
    if (message.method === 'notifications/tasks') return false
    if (message.method !== undefined) return stream !== undefined && stream !== this.#acknowledged
    return this.#streamEnded(message)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#streams = []
    this.#pending = []
  }

  #renew(): void {
    clearTimeout(this.#timer)
    if (Object.keys(this.#lists).length === 0 && this.#uris.size === 0) return this.#closeBefore(this.#streams.length)
    const id = mintId()
    this.#streams.push(id)
    const resourceSubscriptions = this.#uris.size > 0 && { resourceSubscriptions: [...this.#uris] }
    this.#actions.open(id, { ...this.#lists, ...resourceSubscriptions })
  }

  #streamAcknowledged(stream: unknown, { notifications }: Json): boolean {
    const index = this.#streams.indexOf(String(stream))
    if (index < 0) return false
    this.#failures = 0
    this.#acknowledged = this.#streams[index]
    this.#closeBefore(index)
    const honoured = isObject(notifications) ? notifications['resourceSubscriptions'] : undefined
    const uris = new Set<unknown>(Array.isArray(honoured) ? honoured : [])
    // A subscription that was made after this stream was opened is settled by the next stream.
    const isNewest = this.#streams.length === 1
    this.#settle(({ uri }) => (uris.has(uri) ? true : isNewest ? false : undefined))
    return true
  }

  #streamEnded({ id, error }: WireMessage & { readonly error?: unknown }): boolean {
    const index = this.#streams.indexOf(String(id))
    if (index < 0) return false
    this.#streams.splice(index, 1)
    if (this.#streams.length > 0) return true
    const isRefused =
      isObject(error) && (error['code'] === CODES.METHOD_NOT_FOUND || error['code'] === CODES.INVALID_PARAMS)
    this.#failures++
    if (isRefused) this.#settle(() => false)
    else this.#timer = setTimeout(() => this.#renew(), backoffMs(this.#failures, RECONNECT)).unref()
    return true
  }

  #closeBefore(index: number): void {
    for (const id of this.#streams.splice(0, index)) this.#actions.close(id)
  }

  #settle(isGranted: (pending: PendingSubscribe) => boolean | undefined): void {
    const all = this.#pending
    this.#pending = []
    for (const pending of all) {
      const granted = isGranted(pending)
      if (granted === undefined) this.#pending.push(pending)
      else if (granted) this.#actions.respond(resultMessage(pending.id, {}))
      else
        this.#actions.respond(
          errorMessage(pending.id, CODES.INVALID_PARAMS, 'The server does not notify of changes of this resource.'),
        )
    }
  }
}

/** The open streams of `subscriptions/listen` requests. */
export class ListenStreams {
  readonly #context: LayerContext
  /** Called with an error response when a stream ended by itself. */
  readonly #onEnd: (message: WireMessage) => void
  readonly #open = new Map<string, AbortController>()

  constructor(context: LayerContext, onEnd: (message: WireMessage) => void) {
    this.#context = context
    this.#onEnd = onEnd
  }

  open(id: string, params: Json): void {
    const abort = new AbortController()
    this.#open.set(id, abort)
    const onRequestStreamEnd = (): void => {
      if (this.#open.has(id))
        this.#onEnd(
          errorMessage(id, CODES.INTERNAL_ERROR, 'The stream of the subscription ended.', { code: 'STREAM_ENDED' }),
        )
    }
    this.#context
      .send(
        { jsonrpc: '2.0', id, method: 'subscriptions/listen', params },
        { requestSignal: abort.signal, onRequestStreamEnd },
      )
      .catch(onRequestStreamEnd)
  }

  /** The response has come. The end of the stream that follows it is not reported. */
  responded(id: RequestId): void {
    this.#open.delete(String(id))
  }

  /** Cancels the request: by ending its stream where it has one, and by a notification for other transports. */
  close(id: string): void {
    this.#open.get(id)?.abort()
    this.#open.delete(id)
    const params = { requestId: id }
    this.#context.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }).catch(() => undefined)
  }

  /** The connection was closed, so the server needs no notification. */
  abortAll(): void {
    for (const abort of this.#open.values()) abort.abort()
    this.#open.clear()
  }
}
