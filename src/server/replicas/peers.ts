/**
 * The other instances of this server that this one has heard of. Nobody keeps a list of them: each sealed session id
 * names the instance that began the session, and two instances that meet tell each other whom else they know.
 */
import type { Json } from '../../protocol/index.ts'
import type { ServerEvent } from '../lifecycle/eventBus.ts'
import type { Logger } from '../logger.ts'
import { EventQueue } from './eventQueue.ts'
import { type Instance, readInstance, type Self, writeInstance } from './instance.ts'
import { discard, type Messenger, type Successor } from './messenger.ts'

const MAX_PEERS = 256
// An instance that did not answer is not asked again for so long, however many old session ids name it.
const LOST_FOR_MS = 60_000
const MAX_LOST = 1000

export interface PeersOptions {
  readonly self: Self
  readonly messenger: Pick<Messenger, 'send'>
  readonly clock: () => number
  readonly logger: () => Logger
}

interface KnownPeer {
  readonly instance: Instance
  /** Resolves when the instance has told whom it knows, or is lost. */
  greeting: Promise<void>
  /** Events wait while one message is under way. */
  readonly events: EventQueue
  isSending: boolean
}

export class Peers {
  readonly #options: PeersOptions
  readonly #known = new Map<string, KnownPeer>()
  /** Until when an instance counts as lost. */
  readonly #lost = new Map<string, number>()
  /** Events that wait until it is known whom they go to. */
  readonly #unsent = new EventQueue()
  #isSpreading = false

  constructor(options: PeersOptions) {
    this.#options = options
  }

  /** Notes an instance that a sealed token names. Costs one look-up when it is known. */
  meet(instance: Instance): void {
    if (this.#known.has(instance.id) || this.#isLost(instance.id)) return
    const peer = this.#add(instance)
    if (peer !== undefined) peer.greeting = this.#greet(peer)
  }

  /** Notes an instance that has sent something, so it is there. */
  note(instance: Instance): void {
    this.#lost.delete(instance.id)
    if (!this.#known.has(instance.id)) this.#add(instance)
  }

  /** An instance said hello; gives the reply to it. */
  greeted(by: Instance): Json {
    this.note(by)
    const others = [...this.#known.values()].filter(({ instance }) => instance.id !== by.id)
    return { peers: others.map(({ instance }) => writeInstance(instance)) }
  }

  /** All that are known, once those that are just being met have told whom they know. */
  async all(): Promise<readonly Instance[]> {
    let met = -1
    while (met !== this.#known.size) {
      met = this.#known.size
      await Promise.all(Array.from(this.#known.values(), ({ greeting }) => greeting))
    }
    return Array.from(this.#known.values(), ({ instance }) => instance)
  }

  /** Sends an event to every peer, and those that wait for one with it. Peers that are gone are forgotten. */
  publish(event: ServerEvent): void {
    this.#unsent.push(event)
    if (!this.#isSpreading) void this.#spread()
  }

  /** The instance did not answer; another one may have, at its address. */
  lose({ id, url }: Instance, successor?: Successor): void {
    const now = this.#options.clock()
    this.#known.delete(id)
    for (const [old, until] of this.#lost) {
      if (until > now && this.#lost.size < MAX_LOST) break
      this.#lost.delete(old)
    }
    this.#lost.set(id, now + LOST_FOR_MS)
    // A process that was started anew at the same address is another instance of this server, most probably.
    if (successor !== undefined) this.meet({ id: successor.id, url })
  }

  async #spread(): Promise<void> {
    this.#isSpreading = true
    await this.all()
    this.#isSpreading = false
    for (const peer of this.#known.values()) {
      peer.events.pushAll(this.#unsent)
      void this.#sendEvents(peer)
    }
    this.#unsent.clear()
  }

  #isLost(id: string): boolean {
    return (this.#lost.get(id) ?? 0) > this.#options.clock()
  }

  #add(instance: Instance): KnownPeer | undefined {
    const isSelf = instance.id === this.#options.self.id
    if (isSelf || instance.url === undefined || this.#known.size >= MAX_PEERS) return undefined
    const peer: KnownPeer = { instance, greeting: Promise.resolve(), events: new EventQueue(), isSending: false }
    this.#known.set(instance.id, peer)
    return peer
  }

  async #greet({ instance }: KnownPeer): Promise<void> {
    const { messenger, logger } = this.#options
    const delivery = await messenger.send(instance, { kind: 'hello' })
    if (delivery.kind === 'gone') {
      this.lose(instance, delivery.successor)
      logger().debug({ url: instance.url, why: delivery.why }, 'An instance that a session id names is not there.')
      return
    }
    const reply: unknown = await delivery.response.json().catch(() => undefined)
    const entries = (reply as { peers?: unknown } | undefined)?.peers
    for (const entry of Array.isArray(entries) ? (entries as readonly unknown[]) : []) {
      const peer = readInstance(entry)
      if (peer !== undefined) this.meet(peer)
    }
  }

  /** One message at a time; what is published meanwhile goes with the next. */
  async #sendEvents(peer: KnownPeer): Promise<void> {
    if (peer.isSending) return
    peer.isSending = true
    while (!peer.events.isEmpty) {
      const events = peer.events.take()
      const delivery = await this.#options.messenger.send(peer.instance, { kind: 'events', events })
      if (delivery.kind === 'gone') {
        this.lose(peer.instance, delivery.successor)
        return
      }
      await discard(delivery.response)
    }
    peer.isSending = false
  }
}
