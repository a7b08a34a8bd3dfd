/**
 * Each instance looks every second after one other, the next by id, so that all of them are looked after. When that is
 * gone without having said so, the others are told, and look for themselves.
 */
import { unref } from '../../protocol/index.ts'
import type { ServerEvent } from '../lifecycle/eventBus.ts'
import { type Instance, readInstance, type Self, writeInstance } from './instance.ts'
import type { Peers } from './peers.ts'

const BEAT_MS = 1000

export interface HeartbeatOptions {
  readonly self: Self
  readonly peers: Peers
  /** @default 1000 */
  readonly everyMs?: number
}

export class PeerHeartbeat {
  readonly #options: HeartbeatOptions
  #isOver = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: HeartbeatOptions) {
    this.#options = options
  }

  /** Goes on as long as another instance is known. */
  start(): void {
    if (this.#isOver || this.#timer !== undefined) return
    this.#timer = unref(setTimeout(() => void this.#beat(), this.#options.everyMs ?? BEAT_MS))
  }

  stop(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  hear(event: ServerEvent): void {
    const instance = event.kind === 'instance-lost' ? readInstance(event.instance) : undefined
    if (instance !== undefined) void this.#options.peers.check(instance.id)
  }

  async #beat(): Promise<void> {
    const { peers } = this.#options
    const next = this.#next()
    if (next !== undefined && !(await peers.check(next.id)))
      peers.publish({ kind: 'instance-lost', instance: writeInstance(next) })
    this.#timer = undefined
    if (this.#next() !== undefined) this.start()
  }

  /** The one with the least id above this one's, or the least of all. */
  #next(): Instance | undefined {
    const { self, peers } = this.#options
    const known = peers.known().toSorted((a, b) => (a.id < b.id ? -1 : 1))
    return known.find(({ id }) => id > self.id) ?? known[0]
  }
}
