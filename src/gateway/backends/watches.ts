/**
 * The resources of a server that callers watch. Each is watched there once, in the era of the server, for as long as
 * somebody does here, and again on a new link.
 */
import { isObject, type Json, unref } from '../../protocol/index.ts'
import { type Link, ownRequest } from '../links/link.ts'

/** After a stream that the server has ended. */
const AGAIN_MS = 5000

export class Watches {
  readonly #uris = new Map<string, number>()
  readonly #onNews: (method: string, params: Json) => void
  #link: Link | undefined
  #listening: AbortController | undefined
  #isSettled = true

  constructor(onNews: (method: string, params: Json) => void) {
    this.#onNews = onNews
  }

  /** Watches on this link from now on. */
  use(link: Link): void {
    this.#link = link
    if (link.era === 'modern') return this.#listenAgain()
    for (const uri of this.#uris.keys()) this.#send('resources/subscribe', uri)
  }

  watch(uri: string): void {
    const before = this.#uris.get(uri) ?? 0
    this.#uris.set(uri, before + 1)
    if (before === 0) this.#changed('resources/subscribe', uri)
  }

  unwatch(uri: string): void {
    const left = (this.#uris.get(uri) ?? 0) - 1
    if (left > 0) this.#uris.set(uri, left)
    else if (this.#uris.delete(uri)) this.#changed('resources/unsubscribe', uri)
  }

  close(): void {
    this.#listening?.abort()
  }

  #changed(method: 'resources/subscribe' | 'resources/unsubscribe', uri: string): void {
    if (this.#link?.era === 'modern') this.#listenAgain()
    else this.#send(method, uri)
  }

  /** A server that refuses says nothing of the resource; it may still be read. */
  #send(method: string, uri: string): void {
    const link = this.#link
    const resources = link?.about.capabilities['resources']
    if (link === undefined || link.isClosed || !isObject(resources) || resources['subscribe'] !== true) return
    link.request(ownRequest(method, { uri })).catch(() => {})
  }

  /** One stream for all of them. Several changes at once make one new stream, which begins before the old one ends. */
  #listenAgain(): void {
    if (!this.#isSettled) return
    this.#isSettled = false
    queueMicrotask(() => {
      this.#isSettled = true
      const before = this.#listening
      this.#listening = this.#uris.size === 0 ? undefined : this.#listen([...this.#uris.keys()], () => before?.abort())
      if (this.#listening === undefined) before?.abort()
    })
  }

  #listen(uris: readonly string[], onAcknowledged: () => void): AbortController {
    const ended = new AbortController()
    const params = { notifications: { resourceSubscriptions: uris } }
    const onCancel = (listener: () => void): void => ended.signal.addEventListener('abort', listener, { once: true })
    const notify = (method: string, news: Json): void => {
      if (method === 'notifications/subscriptions/acknowledged') onAcknowledged()
      else this.#onNews(method, news)
    }
    const request = ownRequest('subscriptions/listen', params, { onCancel, notify, isEndless: true })
    const again = (): void => {
      if (this.#listening === ended && !ended.signal.aborted) unref(setTimeout(() => this.#listenAgain(), AGAIN_MS))
    }
    this.#link?.request(request).then(again, again)
    return ended
  }
}
