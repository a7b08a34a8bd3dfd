/**
 * A `subscriptions/listen` stream on which a stateless-era server reports changes of some of the resources that callers
 * watch.
 */
import { type Json, unref } from '../../../protocol/index.ts'
import { type Link, ownRequest } from '../../links/link.ts'

/** Servers limit the subscriptions of one stream; ours takes 1000, and 65,536 characters. */
const MAX_URIS = 500
const MAX_CHARS = 32_768
/** Pause after the server has ended a stream. */
const AGAIN_MS = 5000
/** Timeout after which a stream counts as acknowledged. */
const ACKNOWLEDGED_MS = 5000

export interface ListenStreamOptions {
  readonly link: () => Link | undefined
  readonly onNotification: (method: string, params: Json) => void
}

interface OpenListen {
  readonly ended: AbortController
  isAcknowledged: boolean
}

export class ListenStream {
  readonly #options: ListenStreamOptions
  readonly #uris = new Set<string>()
  #chars = 0
  #listening: OpenListen | undefined
  /** The previous stream, until the server has acknowledged the new one. There is at most one. */
  #replaced: OpenListen | undefined
  #isSettled = true
  #isClosed = false

  constructor(options: ListenStreamOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#uris.size === 0
  }

  hasRoomFor(uri: string): boolean {
    return this.isEmpty || (this.#uris.size < MAX_URIS && this.#chars + uri.length <= MAX_CHARS)
  }

  add(uri: string): void {
    this.#uris.add(uri)
    this.#chars += uri.length
    this.listenAgain()
  }

  delete(uri: string): void {
    if (!this.#uris.delete(uri)) return
    this.#chars -= uri.length
    this.listenAgain()
  }

  close(): void {
    this.#isClosed = true
    this.#endReplaced()
    this.#listening?.ended.abort()
  }

  /** Replaces the stream once for several changes. The new stream begins before the old one ends. */
  listenAgain(): void {
    if (!this.#isSettled) return
    this.#isSettled = false
    queueMicrotask(() => {
      this.#isSettled = true
      if (this.#isClosed) return
      this.#replace()
      this.#listen()
    })
  }

  /** Keeps the acknowledged one of two open streams. */
  #replace(): void {
    const [before, last] = [this.#replaced, this.#listening]
    const isBefore = before?.isAcknowledged === true && last?.isAcknowledged !== true
    this.#replaced = isBefore ? before : last
    this.#listening = undefined
    const other = isBefore ? last : before
    other?.ended.abort()
  }

  #endReplaced(): void {
    this.#replaced?.ended.abort()
    this.#replaced = undefined
  }

  #listen(): void {
    const listening: OpenListen = { ended: new AbortController(), isAcknowledged: false }
    const { signal } = listening.ended
    this.#listening = listening
    const isLatest = (): boolean => this.#listening === listening && !signal.aborted
    const late = unref(setTimeout(() => isLatest() && this.#endReplaced(), ACKNOWLEDGED_MS))
    const onCancel = (listener: () => void): void => signal.addEventListener('abort', listener, { once: true })
    const notify = (method: string, news: Json): void => {
      if (method !== 'notifications/subscriptions/acknowledged') return this.#options.onNotification(method, news)
      listening.isAcknowledged = true
      if (isLatest()) this.#endReplaced()
    }
    const again = (): void => {
      clearTimeout(late)
      if (isLatest()) unref(setTimeout(() => isLatest() && this.listenAgain(), AGAIN_MS))
    }
    const params = { notifications: { resourceSubscriptions: [...this.#uris] } }
    const request = ownRequest('subscriptions/listen', params, { onCancel, notify, isEndless: true })
    this.#options.link()?.request(request).then(again, again)
  }
}
