/**
 * Subscriptions to the resources that callers watch: one for each resource, in the server's era, for as long as a
 * caller watches it, and renewed on a new link.
 */
import { type Json, isObject } from '../../../protocol/index.ts'
import { type Link, ownRequest } from '../../links/link.ts'
import { ListenStream } from './listenStream.ts'

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
