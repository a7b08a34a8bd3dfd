/** Polls addresses until an instance is found there. */
import { type Logger, unref } from '../protocol/index.ts'
import type { Instance, Self } from './instance.ts'
import type { Members } from './members.ts'
import { type Messenger, UNOPENED } from './messenger.ts'
import { MAX_ADDRESSES, MAX_LOOKS, OFTEN_LOOKS, OFTEN_MS, RARELY_MS, SELDOM_MS } from './times.ts'

export interface DiscoveryOptions {
  readonly self: Self
  readonly members: Pick<Members, 'meetAgain' | 'known' | 'isStopping'>
  readonly messenger: Pick<Messenger, 'send'>
  readonly logger: () => Logger
}

interface Search {
  readonly url: string
  /** Whether the address was configured, so that a missing instance is logged. */
  readonly isConfigured: boolean
  /** The kinds of failure already logged. */
  readonly logged: Set<MissingPeer['kind']>
}

/** A configured address without an instance that this one can work with. */
export interface MissingPeer {
  readonly address: string
  /** `unopened`: the instance there has other keys. */
  readonly kind: 'nobody' | 'unopened'
  readonly why: string
}

const OTHER_KEYS =
  'The instance at this address cannot open what this one seals, so they do not work together. Give all instances the same PANNIER_KEYS.'

export class Discovery {
  readonly #options: DiscoveryOptions
  readonly #sought = new Map<string, Search>()
  readonly #configured = new Set<string>()
  readonly #missing = new Map<string, MissingPeer>()

  constructor(options: DiscoveryOptions) {
    this.#options = options
  }

  /** The configured addresses without an instance. */
  get missing(): readonly MissingPeer[] {
    const known = new Set(this.#options.members.known().map(({ url }) => url))
    return [...this.#missing.values()].filter(({ address }) => !known.has(address))
  }

  /**
   * Looks for an instance at an address, or behind it if it belongs to a balancer. Resolves after the first attempt.
   */
  async seek(url: string, isConfigured = false): Promise<void> {
    if (isConfigured) this.#configured.add(url)
    if (this.#sought.has(url) || this.#sought.size >= MAX_ADDRESSES) return
    const search: Search = { url, isConfigured, logged: new Set() }
    this.#sought.set(url, search)
    await this.#look(search, 1)
  }

  /** The instance at an address; 'nobody' if no process listens there, undefined if that is unknown. */
  async find(url: string): Promise<Instance | 'nobody' | undefined> {
    const { members, messenger } = this.#options
    const known = members.known().find((peer) => peer.url === url)
    if (known !== undefined) return known
    const delivery = await messenger.send({ id: '', url }, {})
    if (delivery.kind !== 'gone') return undefined
    if (delivery.successor === undefined) return 'nobody'
    members.meetAgain(delivery.successor)
    return delivery.successor
  }

  stop(): void {
    this.#sought.clear()
    this.#missing.clear()
  }

  async #look(search: Search, looks: number): Promise<void> {
    const { url, logged } = search
    if (this.#sought.get(url) !== search) return
    const isOver = looks > MAX_LOOKS && !this.#missing.has(url)
    const isFound = !isOver && (await this.#isFound(search))
    if (isFound) this.#missing.delete(url)
    if (isFound || isOver) {
      this.#sought.delete(url)
      if (isFound && logged.size > 0) this.#options.logger().info({ address: url }, 'An instance is there now.')
      return
    }
    unref(setTimeout(() => void this.#look(search, looks + 1), waitAfter(looks)))
  }

  /** Sends a message without a receiver: the instance at the address replies with its own name. */
  async #isFound(search: Search): Promise<boolean> {
    const { url } = search
    const { self, members, messenger } = this.#options
    if (members.known().some((peer) => peer.url === url)) return true
    const delivery = await messenger.send({ id: '', url }, {})
    if (delivery.kind === 'delivered') return false
    const found = delivery.kind === 'gone' ? delivery.successor : undefined
    if (found === undefined) {
      this.#noteMissing(search, delivery.why)
      return false
    }
    this.#missing.delete(url)
    return found.id === self.id ? false : members.meetAgain(found)
  }

  #noteMissing({ url: address, isConfigured, logged }: Search, why: string): void {
    const kind = why === UNOPENED ? 'unopened' : 'nobody'
    if (this.#configured.has(address)) this.#missing.set(address, { address, kind, why })
    // The address may be this instance's own, whose listener is closed at a stop.
    if (!isConfigured || logged.has(kind) || this.#options.members.isStopping) return
    logged.add(kind)
    const logger = this.#options.logger()
    if (kind === 'unopened') logger.warn({ address }, OTHER_KEYS)
    else logger.warn({ address, why }, 'No instance is at this address. It is looked for.')
  }
}

function waitAfter(looks: number): number {
  if (looks < OFTEN_LOOKS) return OFTEN_MS
  return looks < MAX_LOOKS ? SELDOM_MS : RARELY_MS
}
