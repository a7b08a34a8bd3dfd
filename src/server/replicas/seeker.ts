/** Looks at addresses until an instance of this server is found there. */
import { unref } from '../../protocol/index.ts'
import type { Instance, Self } from './instance.ts'
import { isNobody, type Messenger } from './messenger.ts'
import type { Peers } from './peers.ts'

// A process that is started anew is there within seconds, mostly; those of a whole deployment within a minute.
const OFTEN_MS = 200
const OFTEN_LOOKS = 50
const SELDOM_MS = 1000
const MAX_LOOKS = 100
const MAX_ADDRESSES = 64

export interface SeekerOptions {
  readonly self: Self
  readonly peers: Pick<Peers, 'meetAgain' | 'known'>
  readonly messenger: Pick<Messenger, 'send'>
}

export class Seeker {
  readonly #options: SeekerOptions
  readonly #sought = new Set<string>()

  constructor(options: SeekerOptions) {
    this.#options = options
  }

  /** The address may be one of an instance, or of a balancer before some. Resolves after the first look. */
  async seek(url: string): Promise<void> {
    if (this.#sought.has(url) || this.#sought.size >= MAX_ADDRESSES) return
    this.#sought.add(url)
    await this.#look(url, 1)
  }

  /** The instance that is at an address; 'nobody' where no process is, and undefined where that cannot be found out. */
  async find(url: string): Promise<Instance | 'nobody' | undefined> {
    const { peers, messenger } = this.#options
    const known = peers.known().find((peer) => peer.url === url)
    if (known !== undefined) return known
    const delivery = await messenger.send({ id: '', url }, {})
    if (delivery.kind === 'delivered') return undefined
    if (delivery.successor === undefined) return isNobody(delivery.why) ? 'nobody' : undefined
    peers.meetAgain(delivery.successor)
    return delivery.successor
  }

  stop(): void {
    this.#sought.clear()
  }

  async #look(url: string, looks: number): Promise<void> {
    if (!this.#sought.has(url)) return
    if (looks > MAX_LOOKS || (await this.#isFound(url))) {
      this.#sought.delete(url)
      return
    }
    const waitMs = looks < OFTEN_LOOKS ? OFTEN_MS : SELDOM_MS
    unref(setTimeout(() => void this.#look(url, looks + 1), waitMs))
  }

  /** An instance of this server that gets a message for nobody says who it is. */
  async #isFound(url: string): Promise<boolean> {
    const { self, peers, messenger } = this.#options
    if (peers.known().some((peer) => peer.url === url)) return true
    const delivery = await messenger.send({ id: '', url }, {})
    const found = delivery.kind === 'gone' ? delivery.successor : undefined
    if (found === undefined || found.id === self.id) return false
    return peers.meetAgain(found)
  }
}
