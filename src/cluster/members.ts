/**
 * The other instances that this one knows. There is no central list: each sealed session id names the instance that
 * began the session, two instances that meet exchange their members, and the address of an instance that is gone is
 * polled, because the next process often starts there.
 *
 * Invariant: an instance named only by a token counts as a member once it has answered. Until then the wait for it is
 * short, since clients can bring old tokens of many instances that are gone.
 */
import { isObject, type Json, type Logger, unref } from '../protocol/index.ts'
import { ExpiringMap } from '../state/stores/index.ts'
import { type ClusterEvent, EventOutbox, EventQueue } from './events.ts'
import { type Instance, readInstance, type Self, writeInstance } from './instance.ts'
import { discard, type Messenger } from './messenger.ts'
import { LOST_FOR_MS, MAX_MEMBERS, NAMED_WITHIN_MS, RECENT_EVENTS_MS } from './times.ts'

export interface MembersOptions {
  readonly self: Self
  readonly messenger: Pick<Messenger, 'send'>
  readonly clock: () => number
  readonly logger: () => Logger
}

export interface MembersListener {
  /** Called when an instance has answered for the first time. */
  met?(): void
  /** Called when an instance is gone, and another may start at its address. */
  vacated?(url: string): void
  /**
   * Called when an instance is gone without notice: its unfinished work is lost. It may be one that only another member
   * has met.
   */
  crashed?(instance: Instance): void
  /** Called when another instance took this one for gone, and has refused or resumed what belongs to it. */
  doubted?(): void
  /** Facts that each new member gets, beside the events of the last seconds. */
  standing?(): Iterable<ClusterEvent>
}

interface Member {
  readonly instance: Instance
  /** Whether the instance has answered or sent a message. */
  wasThere: boolean
  /** Whether the instance has answered or sent a message, or a member named it. */
  isVouchedFor: boolean
  /** Whether it has announced its stop, so that its end is no crash. */
  isStopping: boolean
  /** Whether it was taken for gone and has not been notified yet. */
  isDoubted: boolean
  /** Resolves when the instance has named its members, or is lost. */
  greeting: Promise<void>
  /** Resolves with `greeting`, or after a short timeout. */
  soon: Promise<void>
  readonly events: EventOutbox
}

export class Members {
  readonly #options: MembersOptions
  readonly #members = new Map<string, Member>()
  /** Instances that are gone. They are not asked again while they are in this map. */
  readonly #lost: ExpiringMap<{ readonly hasLeft: boolean }>
  /** The events of the last seconds, for instances that join later. */
  readonly #recent = new EventQueue()
  readonly #listeners = new Set<MembersListener>()
  readonly #lossListeners = new Set<{ readonly id: string; readonly listener: () => void }>()
  /** Whether another instance was ever a member. */
  everMet = false
  /** Whether this instance is stopping. */
  isStopping = false

  constructor(options: MembersOptions) {
    this.#options = options
    this.#lost = new ExpiringMap(options.clock)
  }

  /** Returns the function that removes the listener. */
  listen(listener: MembersListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Adds an instance that a sealed token names, unless it is known or gone. */
  meet(instance: Instance): void {
    if (!this.isLost(instance.id)) this.#meet(instance)
  }

  /**
   * Adds an instance that answers at its address, unless it has said goodbye. An instance that was only slow becomes a
   * member again.
   */
  meetAgain(instance: Instance): boolean {
    if (this.#hasLeft(instance.id)) return false
    this.#meet(instance)
    this.#vouchFor(instance)
    return true
  }

  /** Marks an instance as alive, because it has sent a message. */
  note(instance: Instance): void {
    if (this.#hasLeft(instance.id)) return
    const member = this.#members.get(instance.id) ?? this.#add(instance)
    if (member === undefined) return
    this.#arrived(member)
    if (member.isDoubted) void this.#greet(member)
  }

  /** Marks an instance as stopping, by its own announcement. */
  stopping(instance: Instance): void {
    this.note(instance)
    const member = this.#members.get(instance.id)
    if (member !== undefined) member.isStopping = true
  }

  /** The reply to the greeting of an instance. `wasLost`: that instance took this one for gone. */
  greeted(by: Instance, wasLost = false): Json {
    this.note(by)
    if (wasLost) for (const listener of this.#listeners) listener.doubted?.()
    const others = this.known().filter(({ id }) => id !== by.id)
    return { peers: others.map(writeInstance), ...(this.isStopping && { isStopping: true }) }
  }

  /** The members at this moment. */
  known(): readonly Instance[] {
    return this.#there().map(({ instance }) => instance)
  }

  withId(id: string): Instance | undefined {
    return this.#members.get(id)?.instance
  }

  /** All members, after instances that are being met have named theirs. */
  async all(): Promise<readonly Instance[]> {
    await this.#metSoon()
    let met = -1
    while (met !== this.#members.size) {
      met = this.#members.size
      await Promise.all(Array.from(this.#members.values(), async (member) => member.isVouchedFor && member.greeting))
    }
    return this.known()
  }

  /** All members that are not stopping. */
  async staying(): Promise<readonly Instance[]> {
    await this.all()
    return this.knownToStay()
  }

  /** The members at this moment that are not stopping. */
  knownToStay(): readonly Instance[] {
    return this.#there().flatMap(({ instance, isStopping }) => (isStopping ? [] : [instance]))
  }

  /** Resolves when an instance that a token names has answered its greeting, or counts as gone. */
  async greetingOf(id: string): Promise<void> {
    await this.#members.get(id)?.greeting
  }

  /** Whether a member is still alive. Its reply also names its members. */
  async check(id: string): Promise<boolean> {
    const member = this.#members.get(id)
    if (member !== undefined) await this.#greet(member)
    return this.#members.has(id)
  }

  /** Sends an event to every member, and to those that join within the next seconds. */
  publish(event: ClusterEvent): void {
    const now = this.#options.clock()
    this.#recent.dropBefore(now - RECENT_EVENTS_MS)
    this.#recent.push(event, now)
    for (const { events } of this.#members.values()) {
      events.push(event)
      events.start()
    }
  }

  /** The events of these kinds that this instance published within the last seconds. */
  recent(kinds: ReadonlySet<string>): ClusterEvent[] {
    return this.#recent.since(this.#options.clock() - RECENT_EVENTS_MS).filter(({ kind }) => kinds.has(kind))
  }

  /** Resolves when every member has received the published events, or is lost. */
  async flush(): Promise<void> {
    await this.#metSoon()
    await Promise.all(this.#there().map(({ events }) => events.sent()))
  }

  /** Removes an instance that did not answer. `successor`: the instance that answered at its address. */
  lose(instance: Instance, successor?: Instance): void {
    const { id } = instance
    const { isVouchedFor = false, isStopping = false } = this.#members.get(id) ?? {}
    this.#remove(instance, isStopping || this.#hasLeft(id))
    if (successor !== undefined) this.#meetVouchedFor(successor)
    if (isVouchedFor && !isStopping) for (const listener of this.#listeners) listener.crashed?.(instance)
  }

  /** Calls the listener when an instance is gone. Returns the function that removes it. */
  onLost(id: string, listener: () => void): () => void {
    const entry = { id, listener }
    this.#lossListeners.add(entry)
    return () => this.#lossListeners.delete(entry)
  }

  /** Removes an instance that said goodbye: it no longer owns anything. */
  left(instance: Instance): void {
    this.#remove(instance, true)
  }

  /** Whether a member has announced its stop. */
  isLeaving(id: string): boolean {
    return this.#members.get(id)?.isStopping === true
  }

  isLost(id: string): boolean {
    return this.#lost.get(id) !== undefined
  }

  /** Whether an instance has said goodbye. */
  #hasLeft(id: string): boolean {
    return this.#lost.get(id)?.hasLeft === true
  }

  #remove({ id, url }: Instance, hasLeft: boolean): void {
    const wasThere = this.#members.get(id)?.wasThere
    this.#members.delete(id)
    this.#lost.set(id, { hasLeft }, this.#options.clock() + LOST_FOR_MS)
    if (wasThere && url !== undefined) for (const listener of this.#listeners) listener.vacated?.(url)
    for (const entry of this.#lossListeners) if (entry.id === id) entry.listener()
  }

  #add(instance: Instance): Member | undefined {
    const isSelf = instance.id === this.#options.self.id
    if (isSelf || instance.url === undefined || this.#members.size >= MAX_MEMBERS) return undefined
    const events = new EventOutbox((sent) => this.#sendEvents(instance, sent))
    for (const listener of this.#listeners) for (const event of listener.standing?.() ?? []) events.push(event)
    for (const event of this.#recent.since(this.#options.clock() - RECENT_EVENTS_MS)) events.push(event)
    const met = Promise.resolve()
    const isDoubted = this.isLost(instance.id)
    this.#lost.delete(instance.id)
    const state = { wasThere: false, isVouchedFor: false, isStopping: false, isDoubted, greeting: met, soon: met }
    const member: Member = { instance, events, ...state }
    this.#members.set(instance.id, member)
    events.start()
    return member
  }

  #arrived(member: Member): void {
    if (member.wasThere) return
    member.wasThere = true
    member.isVouchedFor = true
    this.everMet = true
    for (const listener of this.#listeners) listener.met?.()
  }

  #meet(instance: Instance): void {
    const member = this.#members.has(instance.id) ? undefined : this.#add(instance)
    if (member === undefined) return
    member.greeting = this.#greet(member)
    member.soon = Promise.race([member.greeting, moment()])
  }

  #meetVouchedFor(instance: Instance): void {
    this.meet(instance)
    this.#vouchFor(instance)
  }

  #vouchFor(instance: Instance): void {
    const member = this.#members.get(instance.id)
    if (member !== undefined) member.isVouchedFor = true
  }

  #there(): Member[] {
    return [...this.#members.values()].filter(({ wasThere }) => wasThere)
  }

  async #metSoon(): Promise<void> {
    await Promise.all(Array.from(this.#members.values(), ({ soon }) => soon))
  }

  async #greet(member: Member): Promise<void> {
    const { messenger, logger } = this.#options
    const { instance } = member
    const wasLost = member.isDoubted
    member.isDoubted = false
    const delivery = await messenger.send(instance, { kind: 'hello', ...(wasLost && { wasLost }) })
    if (delivery.kind !== 'delivered') {
      this.lose(instance, delivery.kind === 'gone' ? delivery.successor : undefined)
      logger().debug({ url: instance.url, why: delivery.why }, 'An instance is gone.')
      return
    }
    this.#arrived(member)
    const reply: unknown = await delivery.response.json().catch(() => undefined)
    const { peers: entries, isStopping } = isObject(reply) ? reply : {}
    if (isStopping === true) member.isStopping = true
    for (const entry of Array.isArray(entries) ? (entries as readonly unknown[]) : []) {
      const other = readInstance(entry)
      if (other !== undefined) this.#meetVouchedFor(other)
    }
  }

  /** Returns false if the instance is gone. */
  async #sendEvents(instance: Instance, events: readonly ClusterEvent[]): Promise<boolean> {
    const delivery = await this.#options.messenger.send(instance, { kind: 'events', events })
    if (delivery.kind === 'delivered') await discard(delivery.response)
    else this.lose(instance, delivery.kind === 'gone' ? delivery.successor : undefined)
    return delivery.kind === 'delivered'
  }
}

function moment(): Promise<void> {
  return new Promise((resolve) => unref(setTimeout(resolve, NAMED_WITHIN_MS)))
}
