/**
 * The one `subscriptions/listen` of a client that knows only subscriptions to single resources and lists that change by
 * themselves. What is wanted changes; then a new stream is opened, and the old one closed once the new one is there.
 */
import { CODES, isObject, type Json, META, type RequestId } from '../../protocol/index.ts'
import type { LayerContext } from '../layer/layer.ts'
import { errorMessage, metaIn, mintId, paramsOf, resultMessage } from '../layer/message.ts'
import type { WireMessage } from '../layer/transport.ts'

interface ListeningEnds {
  /** Opens a stream for what is wanted. */
  open(id: string, notifications: Json): void
  close(id: string): void
  /** Answers a request of the client. */
  answer(message: WireMessage): void
}

interface Waiting {
  readonly id: RequestId
  readonly uri: string
}

/** A stream that ends by itself is opened again, each time later, until one is acknowledged. */
const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 30_000

export class ResourceSubscriptions {
  readonly #ends: ListeningEnds
  readonly #uris = new Set<string>()
  #lists: Json = {}
  /** Opened and not closed, oldest first. */
  #streams: string[] = []
  #acknowledged: string | undefined
  #waiting: Waiting[] = []
  #pauseMs = FIRST_PAUSE_MS
  #timer: NodeJS.Timeout | undefined

  constructor(ends: ListeningEnds) {
    this.#ends = ends
  }

  /** To the lists that the server says may change. */
  listen(capabilities: Json): void {
    const lists = ['tools', 'prompts', 'resources'].filter((area) => {
      const declared = capabilities[area]
      return isObject(declared) && declared['listChanged'] === true
    })
    this.#lists = Object.fromEntries(lists.map((area) => [`${area}ListChanged`, true]))
    this.#renew()
  }

  subscribe(id: RequestId, uri: string): void {
    this.#uris.add(uri)
    this.#waiting.push({ id, uri })
    this.#renew()
  }

  unsubscribe(id: RequestId, uri: string): void {
    if (this.#uris.delete(uri)) this.#renew()
    this.#ends.answer(resultMessage(id, {}))
  }

  /** Whether a message from the server is about one of these streams, and not for the client. */
  takes(message: WireMessage): boolean {
    const stream = metaIn(paramsOf(message))[META.subscription]
    if (message.method === 'notifications/subscriptions/acknowledged') return this.#opened(stream, paramsOf(message))
    // Tasks are listened to by the layer above that follows them.
    if (message.method === 'notifications/tasks') return false
    if (message.method !== undefined) return stream !== undefined && stream !== this.#acknowledged
    return this.#ended(message)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#streams = []
    this.#waiting = []
  }

  #renew(): void {
    clearTimeout(this.#timer)
    if (Object.keys(this.#lists).length === 0 && this.#uris.size === 0) return this.#closeBefore(this.#streams.length)
    const id = mintId()
    this.#streams.push(id)
    const resourceSubscriptions = this.#uris.size > 0 && { resourceSubscriptions: [...this.#uris] }
    this.#ends.open(id, { ...this.#lists, ...resourceSubscriptions })
  }

  #opened(stream: unknown, { notifications }: Json): boolean {
    const index = this.#streams.indexOf(String(stream))
    if (index < 0) return false
    this.#pauseMs = FIRST_PAUSE_MS
    this.#acknowledged = this.#streams[index]
    this.#closeBefore(index)
    const honoured = isObject(notifications) ? notifications['resourceSubscriptions'] : undefined
    const uris = new Set<unknown>(Array.isArray(honoured) ? honoured : [])
    // A subscription that came after this stream was opened waits for the next one.
    const isLast = this.#streams.length === 1
    this.#settle(({ uri }) => (uris.has(uri) ? true : isLast ? false : undefined))
    return true
  }

  #ended({ id, error }: WireMessage & { readonly error?: unknown }): boolean {
    const index = this.#streams.indexOf(String(id))
    if (index < 0) return false
    this.#streams.splice(index, 1)
    if (this.#streams.length > 0) return true
    const isRefused =
      isObject(error) && (error['code'] === CODES.METHOD_NOT_FOUND || error['code'] === CODES.INVALID_PARAMS)
    if (isRefused) this.#settle(() => false)
    else this.#timer = setTimeout(() => this.#renew(), this.#pauseMs).unref()
    this.#pauseMs = Math.min(this.#pauseMs * 2, MAX_PAUSE_MS)
    return true
  }

  #closeBefore(index: number): void {
    for (const id of this.#streams.splice(0, index)) this.#ends.close(id)
  }

  #settle(verdict: (waiting: Waiting) => boolean | undefined): void {
    const all = this.#waiting
    this.#waiting = []
    for (const waiting of all) {
      const granted = verdict(waiting)
      if (granted === undefined) this.#waiting.push(waiting)
      else if (granted) this.#ends.answer(resultMessage(waiting.id, {}))
      else
        this.#ends.answer(errorMessage(waiting.id, CODES.INVALID_PARAMS, 'The server does not tell when this changes.'))
    }
  }
}

/** The long answers of `subscriptions/listen` that a layer holds open for its client. */

export class ListenStreams {
  readonly #ends: LayerContext
  /** Hears of one that ended by itself, as of an answer. */
  readonly #onEnd: (message: WireMessage) => void
  readonly #open = new Map<string, AbortController>()

  constructor(ends: LayerContext, onEnd: (message: WireMessage) => void) {
    this.#ends = ends
    this.#onEnd = onEnd
  }

  open(id: string, params: Json): void {
    const abort = new AbortController()
    this.#open.set(id, abort)
    const onRequestStreamEnd = (): void => {
      if (this.#open.has(id)) this.#onEnd(errorMessage(id, CODES.INTERNAL_ERROR, 'Ended.', { code: 'STREAM_ENDED' }))
    }
    this.#ends
      .send(
        { jsonrpc: '2.0', id, method: 'subscriptions/listen', params },
        { requestSignal: abort.signal, onRequestStreamEnd },
      )
      .catch(onRequestStreamEnd)
  }

  /** Its answer has come; that its stream ends now is no news. */
  answered(id: RequestId): void {
    this.#open.delete(String(id))
  }

  /** Where each request has a stream, its end is the sign; elsewhere it takes a word. */
  close(id: string): void {
    this.#open.get(id)?.abort()
    this.#open.delete(id)
    const params = { requestId: id }
    this.#ends.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }).catch(() => undefined)
  }

  /** The connection is over: nobody has to be told. */
  drop(): void {
    for (const abort of this.#open.values()) abort.abort()
    this.#open.clear()
  }
}
