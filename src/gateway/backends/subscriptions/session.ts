/** The resources that a link of the session era is subscribed to: brought in line with those that callers watch. */
import { isObject } from '../../../protocol/index.ts'
import { type Link, ownRequest } from '../../links/link.ts'

/** How many requests are under way; one caller may watch a thousand resources at once. */
const AT_ONCE = 8

export class SessionSubscriptions {
  readonly #link: Link
  readonly #isWatched: (uri: string) => boolean
  readonly #uris = new Set<string>()
  readonly #changed = new Set<string>()
  readonly #underWay = new Set<string>()

  constructor(link: Link, isWatched: (uri: string) => boolean) {
    this.#link = link
    this.#isWatched = isWatched
  }

  /** Somebody watches it now, or nobody any more. */
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

  /** A server that refuses says nothing of the resource; it may still be read. */
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
