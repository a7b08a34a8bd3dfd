/** Looks at addresses until an instance of this server is found there. */
import { unref } from '../../protocol/index.ts'
import type { Instance, Self } from './instance.ts'
import type { Logger } from '../logger.ts'
import { isNobody, type Messenger, UNOPENED } from './messenger.ts'
import type { Peers } from './peers.ts'

// A process that is started anew is there within seconds, mostly; those of a whole deployment within a minute.
const OFTEN_MS = 200
const OFTEN_LOOKS = 50
const SELDOM_MS = 1000
const MAX_LOOKS = 100
// An address that was configured is looked at for as long as nobody is there.
const RARELY_MS = 10_000
const MAX_ADDRESSES = 64

export interface SeekerOptions {
  readonly self: Self
  readonly peers: Pick<Peers, 'meetAgain' | 'known'>
  readonly messenger: Pick<Messenger, 'send'>
  readonly logger: () => Logger
}

/** The search for whoever is at an address. */
interface Search {
  readonly url: string
  /** Whether the log has how it goes. */
  readonly isTold: boolean
  /** What the log has of it. */
  readonly told: Set<MissingPeer['kind']>
}

/** A configured address at which no instance was found that this one can work with. */
export interface MissingPeer {
  readonly address: string
  /** `unopened`: the instance there has other keys. */
  readonly kind: 'nobody' | 'unopened'
  readonly why: string
}

const OTHER_KEYS =
  'The instance at this address cannot open what this one seals, so they do not work together. Give all instances the same PANNIER_KEYS.'

export class Seeker {
  readonly #options: SeekerOptions
  /** Another one that looks at the same addresses tells how that goes. */
  isSilent = false
  readonly #sought = new Map<string, Search>()
  readonly #configured = new Set<string>()
  readonly #missing = new Map<string, MissingPeer>()

  constructor(options: SeekerOptions) {
    this.#options = options
  }

  /** The configured addresses at which nobody is now. */
  get missing(): readonly MissingPeer[] {
    const known = new Set(this.#options.peers.known().map(({ url }) => url))
    return [...this.#missing.values()].filter(({ address }) => !known.has(address))
  }

  /**
   * The address may be one of an instance, or of a balancer before some. Resolves after the first look. `isConfigured`:
   * whoever configured the address wants to know that nobody is there.
   */
  async seek(url: string, isConfigured = false): Promise<void> {
    if (isConfigured && !this.isSilent) this.#configured.add(url)
    if (this.#sought.has(url) || this.#sought.size >= MAX_ADDRESSES) return
    const search: Search = { url, isTold: isConfigured && !this.isSilent, told: new Set() }
    this.#sought.set(url, search)
    await this.#look(search, 1)
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
    this.#missing.clear()
  }

  async #look(search: Search, looks: number): Promise<void> {
    const { url, told } = search
    if (this.#sought.get(url) !== search) return
    const isOver = looks > MAX_LOOKS && !this.#missing.has(url)
    const isFound = !isOver && (await this.#isFound(search))
    if (isFound) this.#missing.delete(url)
    if (isFound || isOver) {
      this.#sought.delete(url)
      if (isFound && told.size > 0) this.#options.logger().info({ address: url }, 'An instance is there now.')
      return
    }
    unref(setTimeout(() => void this.#look(search, looks + 1), waitAfter(looks)))
  }

  /** An instance of this server that gets a message for nobody says who it is. */
  async #isFound(search: Search): Promise<boolean> {
    const { url } = search
    const { self, peers, messenger } = this.#options
    if (peers.known().some((peer) => peer.url === url)) return true
    const delivery = await messenger.send({ id: '', url }, {})
    if (delivery.kind === 'delivered') return false
    const { successor: found, why } = delivery
    if (found === undefined) {
      this.#noteMissing(search, why)
      return false
    }
    this.#missing.delete(url)
    return found.id === self.id ? false : peers.meetAgain(found)
  }

  #noteMissing({ url: address, isTold, told }: Search, why: string): void {
    const kind = why === UNOPENED ? 'unopened' : 'nobody'
    if (this.#configured.has(address)) this.#missing.set(address, { address, kind, why })
    if (!isTold || told.has(kind)) return
    told.add(kind)
    const logger = this.#options.logger()
    if (kind === 'unopened') logger.warn({ address }, OTHER_KEYS)
    else logger.warn({ address, why }, 'No instance is at this address. It is looked for.')
  }
}

function waitAfter(looks: number): number {
  if (looks < OFTEN_LOOKS) return OFTEN_MS
  return looks < MAX_LOOKS ? SELDOM_MS : RARELY_MS
}
