/**
 * The other instances of this server that this one has heard of. Nobody keeps a list of them: each sealed session id
 * names the instance that began the session, two instances that meet tell each other whom else they know, and an address
 * at which an instance was is looked at again, because the next one often comes there.
 *
 * Invariant: one that only a token names counts when it has answered once. Until then it is waited for a moment at most,
 * since clients can come with old tokens of many instances that are gone.
 */
import { isObject, type Json, unref } from '../../protocol/index.ts'
import type { ServerEvent } from '../lifecycle/eventBus.ts'
import type { Logger } from '../logger.ts'
import { EventOutbox } from './events/outbox.ts'
import { RecentEvents } from './events/recent.ts'
import { type Instance, readInstance, type Self, writeInstance } from './instance.ts'
import { LostPeers } from './lostPeers.ts'
import { discard, type Messenger } from './messenger.ts'

const MAX_PEERS = 256
const NAMED_WITHIN_MS = 300

export interface PeersOptions {
  readonly self: Self
  readonly messenger: Pick<Messenger, 'send'>
  readonly clock: () => number
  readonly logger: () => Logger
}

interface KnownPeer {
  readonly instance: Instance
  /** Whether it was heard of from itself. */
  wasThere: boolean
  /** Whether it was heard of from an instance that is there, or from itself. */
  isVouchedFor: boolean
  /** Whether it said that it is being stopped: when it is gone, nothing is lost. */
  isStopping: boolean
  /** Resolves when the instance has told whom it knows, or is lost. */
  greeting: Promise<void>
  /** Resolves with `greeting`, or after a moment. */
  soon: Promise<void>
  readonly events: EventOutbox
}

export class Peers {
  readonly #options: PeersOptions
  readonly #known = new Map<string, KnownPeer>()
  readonly #lost: LostPeers
  readonly #recent: RecentEvents
  readonly #lossListeners = new Set<{ readonly id: string; readonly listener: () => void }>()
  /** Called when an instance is there for the first time. */
  onMet: () => void = () => {}
  /** Called with the address of an instance that is gone, at which another may come. */
  onVacated: (url: string) => void = () => {}
  /** Called when an instance is gone without having said so: what it was doing is lost. */
  onCrashed: () => void = () => {}
  /** Whether there ever was another instance. */
  everMet = false
  /** Whether this instance is being stopped. */
  isStopping = false
  /** What every instance has to know, beside the events of the last seconds. */
  standing: () => Iterable<ServerEvent> = () => []

  constructor(options: PeersOptions) {
    this.#options = options
    this.#recent = new RecentEvents(options.clock)
    this.#lost = new LostPeers(options.clock)
  }

  /** Notes an instance that a sealed token names. Costs one look-up when it is known. */
  meet(instance: Instance): void {
    if (this.#known.has(instance.id) || this.isLost(instance.id)) return
    const peer = this.#add(instance)
    if (peer === undefined) return
    peer.greeting = this.#greet(peer)
    peer.soon = Promise.race([peer.greeting, moment()])
  }

  /** Meets an instance that answers at its address, unless it is about to end. One that was only slow is here again. */
  meetAgain(instance: Instance): boolean {
    if (this.#lost.hasLeft(instance.id)) return false
    this.#lost.remove(instance.id)
    this.#meetVouchedFor(instance)
    return true
  }

  /** Notes an instance that has sent something, so it is there. */
  note(instance: Instance): void {
    if (this.#lost.hasLeft(instance.id)) return
    this.#lost.remove(instance.id)
    const peer = this.#known.get(instance.id) ?? this.#add(instance)
    if (peer !== undefined) this.#arrived(peer)
  }

  /** An instance said that it is being stopped. */
  stopping(instance: Instance): void {
    this.note(instance)
    const peer = this.#known.get(instance.id)
    if (peer !== undefined) peer.isStopping = true
  }

  /** An instance said hello; gives the reply to it. */
  greeted(by: Instance): Json {
    this.note(by)
    const others = this.known().filter(({ id }) => id !== by.id)
    return { peers: others.map(writeInstance), ...(this.isStopping && { isStopping: true }) }
  }

  /** Those that are there, as far as is known right now. */
  known(): readonly Instance[] {
    return this.#there().map(({ instance }) => instance)
  }

  /** All that are there, once those that are just being met have told whom they know. */
  async all(): Promise<readonly Instance[]> {
    await this.#metSoon()
    let met = -1
    while (met !== this.#known.size) {
      met = this.#known.size
      await Promise.all(Array.from(this.#known.values(), async (peer) => peer.isVouchedFor && peer.greeting))
    }
    return this.known()
  }

  /** Those of them that are not being stopped. */
  async staying(): Promise<readonly Instance[]> {
    return (await this.all()).filter(({ id }) => this.#known.get(id)?.isStopping !== true)
  }

  /** Looks whether an instance that is known is still there; it also tells whom it knows. */
  async check(id: string): Promise<boolean> {
    const peer = this.#known.get(id)
    if (peer !== undefined) await this.#greet(peer)
    return this.#known.has(id)
  }

  /**
   * Sends an event to every peer, and those that wait for one with it. Peers that are met within the next seconds get it,
   * too: an instance that has just started knows nobody yet.
   */
  publish(event: ServerEvent): void {
    this.#recent.push(event)
    for (const peer of this.#known.values()) {
      peer.events.push(event)
      peer.events.start()
    }
  }

  /** The cancellations that this instance published within the last seconds. */
  recentCancellations(): ServerEvent[] {
    return this.#recent.cancellations()
  }

  /** What every peer replies to a message. One that does not reply is lost. */
  async askAll(message: Json): Promise<{ readonly instance: Instance; readonly reply: unknown }[]> {
    const ask = async (instance: Instance) => {
      const delivery = await this.#options.messenger.send(instance, message)
      if (delivery.kind === 'gone') this.lose(instance, delivery.successor)
      const reply: unknown =
        delivery.kind === 'gone' ? undefined : await delivery.response.json().catch(() => undefined)
      return { instance, reply }
    }
    return Promise.all((await this.all()).map(ask))
  }

  /** Resolves when every peer that is there has got what was published, or is lost. */
  async flush(): Promise<void> {
    await this.#metSoon()
    await Promise.all(this.#there().map(({ events }) => events.sent()))
  }

  /** The instance did not answer; another one may have, at its address. */
  lose(instance: Instance, successor?: Instance): void {
    const { id } = instance
    const { wasThere = false, isStopping = false } = this.#known.get(id) ?? {}
    this.#remove(instance, isStopping || this.#lost.hasLeft(id))
    if (successor !== undefined) this.#meetVouchedFor(successor)
    if (wasThere && !isStopping) this.onCrashed()
  }

  /** Calls the listener when an instance is gone. Gives the function that ends this. */
  onLost(id: string, listener: () => void): () => void {
    const entry = { id, listener }
    this.#lossListeners.add(entry)
    return () => this.#lossListeners.delete(entry)
  }

  /** The instance is about to end, and has nothing that belongs to others. */
  left(instance: Instance): void {
    this.#remove(instance, true)
  }

  #remove({ id, url }: Instance, hasLeft: boolean): void {
    const wasThere = this.#known.get(id)?.wasThere
    this.#known.delete(id)
    this.#lost.add(id, hasLeft)
    if (wasThere && url !== undefined) this.onVacated(url)
    for (const entry of this.#lossListeners) if (entry.id === id) entry.listener()
  }

  isLost(id: string): boolean {
    return this.#lost.has(id)
  }

  #add(instance: Instance): KnownPeer | undefined {
    const isSelf = instance.id === this.#options.self.id
    if (isSelf || instance.url === undefined || this.#known.size >= MAX_PEERS) return undefined
    const events = new EventOutbox((sent) => this.#sendEvents(instance, sent))
    for (const event of this.standing()) events.push(event)
    events.pushAll(this.#recent.queue())
    const met = Promise.resolve()
    const isNew = {
      wasThere: false,
      isVouchedFor: false,
      isStopping: false,
      greeting: met,
      soon: met,
    }
    const peer: KnownPeer = { instance, events, ...isNew }
    this.#known.set(instance.id, peer)
    events.start()
    return peer
  }

  #arrived(peer: KnownPeer): void {
    if (peer.wasThere) return
    peer.wasThere = true
    peer.isVouchedFor = true
    this.everMet = true
    this.onMet()
  }

  #meetVouchedFor(instance: Instance): void {
    this.meet(instance)
    const peer = this.#known.get(instance.id)
    if (peer !== undefined) peer.isVouchedFor = true
  }

  #there(): KnownPeer[] {
    return [...this.#known.values()].filter(({ wasThere }) => wasThere)
  }

  async #metSoon(): Promise<void> {
    await Promise.all(Array.from(this.#known.values(), ({ soon }) => soon))
  }

  async #greet(peer: KnownPeer): Promise<void> {
    const { messenger, logger } = this.#options
    const { instance } = peer
    const delivery = await messenger.send(instance, { kind: 'hello' })
    if (delivery.kind === 'gone') {
      this.lose(instance, delivery.successor)
      logger().debug({ url: instance.url, why: delivery.why }, 'An instance is not there any more.')
      return
    }
    this.#arrived(peer)
    const reply: unknown = await delivery.response.json().catch(() => undefined)
    const { peers: entries, isStopping } = isObject(reply) ? reply : {}
    if (isStopping === true) peer.isStopping = true
    for (const entry of Array.isArray(entries) ? (entries as readonly unknown[]) : []) {
      const other = readInstance(entry)
      if (other !== undefined) this.#meetVouchedFor(other)
    }
  }

  async #sendEvents(instance: Instance, events: readonly ServerEvent[]): Promise<'delivered' | 'gone'> {
    const delivery = await this.#options.messenger.send(instance, { kind: 'events', events })
    if (delivery.kind === 'gone') this.lose(instance, delivery.successor)
    else await discard(delivery.response)
    return delivery.kind
  }
}

function moment(): Promise<void> {
  return new Promise((resolve) => unref(setTimeout(resolve, NAMED_WITHIN_MS)))
}
