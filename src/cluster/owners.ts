/**
 * The owners of things whose owner has changed, by key. There is one way to find an owner: an instance that takes a
 * thing announces that to all, and an instance that seeks a thing asks all until its owner announces itself again.
 *
 * Invariant: an instance that owns a thing stays its owner until it leaves the thing itself, since announcements of
 * earlier owners may come late.
 */
import { unref } from '../protocol/index.ts'
import { ExpiringMap } from '../state/stores/index.ts'
import type { ClusterBus, ClusterEvent } from './events.ts'
import { type Instance, readInstance, type Self, writeInstance } from './instance.ts'
import type { Members } from './members.ts'
import { ASK_EVERY_MS, FOUND_WITHIN_MS } from './times.ts'

export interface OwnersOptions {
  readonly self: Self
  readonly bus: ClusterBus
  /** The instances whose addresses are known. @default none */
  readonly members?: Pick<Members, 'withId'>
  /** Lifetime of an entry. */
  readonly ttlSeconds: number
  readonly clock: () => number
}

/** Things of one kind. */
export interface OwnedThings {
  /** Whether this instance has the thing. */
  has(key: string): boolean
  /** Called with each new owner of a thing that is another instance. */
  moved?(key: string, owner: Instance): void
}

export class Owners {
  readonly #options: OwnersOptions
  readonly #owners: ExpiringMap<Instance>
  /** Keys that were asked for recently, so that several searches for one key ask once. */
  readonly #asked: ExpiringMap<true>
  readonly #things: OwnedThings[] = []

  constructor(options: OwnersOptions) {
    const { bus, clock } = options
    this.#options = options
    this.#owners = new ExpiringMap(clock)
    this.#asked = new ExpiringMap(clock)
    bus.subscribe((event) => {
      if (event.kind === 'owner-wanted') this.#announce(String(event['key']))
      if (event.kind === 'owner-changed') this.#hear(event)
    })
  }

  /** Registers a kind of things. */
  add(things: OwnedThings): void {
    this.#things.push(things)
  }

  /** The last known owner of a thing that has changed its owner: another instance, or this one. */
  get(key: string): Instance | undefined {
    return this.#owners.get(key)
  }

  /**
   * The owner of a thing: the last known one, else the instance that its token names. A token without an address is of a
   * time when that instance did not know its own yet.
   */
  ownerOf(key: string, named: Instance): Instance {
    const owner = this.get(key) ?? named
    return owner.url === undefined ? (this.#options.members?.withId(owner.id) ?? owner) : owner
  }

  /** Whether this instance has taken the thing, and has not handed it off. */
  isOwn(key: string): boolean {
    return this.get(key)?.id === this.#options.self.id
  }

  note(keys: readonly string[], to: Instance): void {
    const { clock, ttlSeconds } = this.#options
    for (const key of keys) this.#owners.set(key, to, clock() + ttlSeconds * 1000)
  }

  /** Stores and announces a new owner. A former owner announces it as well: the new one may not know the others yet. */
  change(keys: readonly string[], to: Instance): void {
    const { bus, self } = this.#options
    this.note(keys, to)
    bus.publish({ kind: 'owner-changed', keys, to: writeInstance(to), ...(to.id !== self.id && { from: self.id }) })
  }

  /** Marks things that this instance no longer owns and whose new owner is unknown. */
  leave(keys: readonly string[]): void {
    for (const key of keys) if (this.isOwn(key)) this.#owners.delete(key)
  }

  /** Asks for the owner until `isFound`; returns false if that takes too long. */
  async seek(key: string, isFound: () => boolean): Promise<boolean> {
    for (let waitedMs = 0; waitedMs < FOUND_WITHIN_MS; waitedMs += ASK_EVERY_MS) {
      this.#ask(key)
      await new Promise((resolve) => unref(setTimeout(resolve, ASK_EVERY_MS)))
      if (isFound()) return true
    }
    return false
  }

  #ask(key: string): void {
    const { bus, clock } = this.#options
    if (this.#asked.get(key)) return
    this.#asked.set(key, true, clock() + ASK_EVERY_MS / 2)
    bus.publish({ kind: 'owner-wanted', key })
  }

  #announce(key: string): void {
    if (this.isOwn(key) || this.#has(key)) this.change([key], this.#options.self)
  }

  /** `from`: the former owner that announces its successor, which may have handed the thing off since. */
  #hear({ keys, to, from }: ClusterEvent): void {
    const owner = readInstance(to)
    if (owner === undefined || owner.id === this.#options.self.id || !Array.isArray(keys)) return
    for (const key of keys as readonly string[]) {
      if (this.isOwn(key) || this.#has(key)) continue
      const known = this.get(key)
      if (from !== undefined && known !== undefined && known.id !== from) continue
      this.note([key], owner)
      for (const things of this.#things) things.moved?.(key, owner)
    }
  }

  #has(key: string): boolean {
    return this.#things.some((things) => things.has(key))
  }
}
