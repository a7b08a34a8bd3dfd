/**
 * Subscriptions to the resources of a server that callers watch: one to each, in the era of the server, for as long as
 * somebody watches it here, and again on a new link.
 */
import type { Json } from '../../../protocol/index.ts'
import type { Link } from '../../links/link.ts'
import { SessionSubscriptions } from './session.ts'
import { ListenStream } from './listenStream.ts'

export class BackendSubscriptions {
  readonly #uris = new Map<string, number>()
  readonly #onNotification: (method: string, params: Json) => void
  #link: Link | undefined
  /** At a server of the stateless era. */
  readonly #streams = new Set<ListenStream>()
  readonly #streamOf = new Map<string, ListenStream>()
  /** At a server of the session era. */
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
