/**
 * Subscriptions to the resources that callers watch: one for each resource, while a caller watches it, renewed on each
 * new link.
 */
import { isObject, type Json, unref } from '../../protocol/index.ts'
import { cancelledBy, type Link, ownRequest } from '../links/link.ts'

export class BackendSubscriptions {
  readonly #uris = new Map<string, number>()
  readonly #onNotification: (method: string, params: Json) => void
  #link: Link | undefined
  /** The streams of a stateless-era server. */
  readonly #streams = new Set<ListenStream>()
  readonly #streamOf = new Map<string, ListenStream>()
  /** The subscriptions of a session-era server. */
  #session: SessionSubscriptions | undefined

  constructor(onNotification: (method: string, params: Json) => void) {
    this.#onNotification = onNotification
  }

  /** Subscribes on this link from now on. */
  use(link: Link): void {
    this.#link = link
    this.#session = link.era === 'modern' ? undefined : new SessionSubscriptions(link, (uri) => this.#uris.has(uri))
    if (link.era !== 'modern') this.close()
    for (const stream of this.#streams) stream.listenAgain()
    for (const uri of this.#uris.keys()) this.#changed(uri)
  }

  subscribe(uri: string): void {
    const before = this.#uris.get(uri) ?? 0
    this.#uris.set(uri, before + 1)
    if (before === 0) this.#changed(uri)
  }

  unsubscribe(uri: string): void {
    const left = (this.#uris.get(uri) ?? 0) - 1
    if (left > 0) this.#uris.set(uri, left)
    else if (this.#uris.delete(uri)) this.#changed(uri)
  }

  close(): void {
    for (const stream of this.#streams) stream.close()
    this.#streams.clear()
    this.#streamOf.clear()
  }

  #changed(uri: string): void {
    this.#session?.changed(uri)
    if (this.#link?.era !== 'modern') return
    const stream = this.#streamOf.get(uri)
    const isWatched = this.#uris.has(uri)
    if (isWatched && stream === undefined) this.#add(uri)
    if (!isWatched && stream !== undefined) this.#remove(uri, stream)
  }

  #add(uri: string): void {
    const found = [...this.#streams].find((stream) => stream.hasRoomFor(uri))
    const stream = found ?? new ListenStream({ link: () => this.#link, onNotification: this.#onNotification })
    this.#streams.add(stream)
    this.#streamOf.set(uri, stream)
    stream.add(uri)
  }

  #remove(uri: string, stream: ListenStream): void {
    this.#streamOf.delete(uri)
    stream.delete(uri)
    if (!stream.isEmpty) return
    this.#streams.delete(stream)
    stream.close()
  }
}

/** Maximum number of concurrent subscribe requests; one caller may watch a thousand resources at once. */
const AT_ONCE = 8

/** The subscriptions on a session-era link, kept in line with the resources that callers watch. */
class SessionSubscriptions {
  readonly #link: Link
  readonly #isWatched: (uri: string) => boolean
  readonly #uris = new Set<string>()
  readonly #changed = new Set<string>()
  readonly #underWay = new Set<string>()

  constructor(link: Link, isWatched: (uri: string) => boolean) {
    this.#link = link
    this.#isWatched = isWatched
  }

  /** Updates the subscription after the first caller began, or the last one stopped, to watch a resource. */
  changed(uri: string): void {
    const { resources } = this.#link.about.capabilities
    if (!isObject(resources) || resources['subscribe'] !== true) return
    this.#changed.add(uri)
    this.#go()
  }

  #go(): void {
    for (const uri of this.#changed) {
      if (this.#link.isClosed || this.#underWay.size >= AT_ONCE) return
      if (this.#underWay.has(uri)) continue
      this.#changed.delete(uri)
      if (this.#isWatched(uri) !== this.#uris.has(uri)) void this.#send(uri)
    }
  }

  /** Subscribes or unsubscribes. A refusal is ignored: the resource may still be read. */
  async #send(uri: string): Promise<void> {
    const isWatched = this.#isWatched(uri)
    if (isWatched) this.#uris.add(uri)
    else this.#uris.delete(uri)
    this.#underWay.add(uri)
    const method = isWatched ? 'resources/subscribe' : 'resources/unsubscribe'
    await this.#link.request(ownRequest(method, { uri })).catch(() => {})
    this.#underWay.delete(uri)
    this.#go()
  }
}

/** Servers limit the subscriptions of one stream; ours takes 1000, and 65,536 characters. */
const MAX_URIS = 500
const MAX_CHARS = 32_768
/** Pause after the server has ended a stream. */
const AGAIN_MS = 5000
/** Timeout after which a stream counts as acknowledged. */
const ACKNOWLEDGED_MS = 5000

interface ListenStreamOptions {
  readonly link: () => Link | undefined
  readonly onNotification: (method: string, params: Json) => void
}

interface OpenListen {
  readonly ended: AbortController
  isAcknowledged: boolean
}

/** A `subscriptions/listen` stream on which a stateless-era server reports changes of some of the watched resources. */
class ListenStream {
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
    const request = ownRequest('subscriptions/listen', params, {
      onCancel: cancelledBy(signal),
      notify,
      isEndless: true,
    })
    this.#options.link()?.request(request).then(again, again)
  }
}
