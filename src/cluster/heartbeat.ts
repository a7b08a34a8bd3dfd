/**
 * Ring heartbeat: each instance pings its successor by id every second. If the successor is gone without notice, the
 * pinging instance reports it to the others, which check for themselves. This holds for every way of noticing, because
 * a lost message also ends the pings to that instance.
 */
import { unref } from '../protocol/index.ts'
import type { ClusterEvent } from './events.ts'
import { type Instance, readInstance, type Self, writeInstance } from './instance.ts'
import type { Members } from './members.ts'
import { HEARTBEAT_MS } from './times.ts'

export interface HeartbeatOptions {
  readonly self: Self
  readonly members: Members
  /** @default 1000 */
  readonly everyMs?: number
}

export class MemberHeartbeat {
  readonly #options: HeartbeatOptions
  #isOver = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: HeartbeatOptions) {
    this.#options = options
    options.members.listen({ crashed: (instance) => this.#report(instance) })
  }

  /** Pings while another instance is known. */
  start(): void {
    if (this.#isOver || this.#timer !== undefined) return
    this.#timer = unref(setTimeout(() => void this.#beat(), this.#options.everyMs ?? HEARTBEAT_MS))
  }

  stop(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  /** Checks an instance that another one reports as gone. */
  hear(event: ClusterEvent): void {
    const instance = event.kind === 'instance-lost' ? readInstance(event['instance']) : undefined
    if (instance !== undefined) void this.#options.members.check(instance.id)
  }

  async #beat(): Promise<void> {
    const { members } = this.#options
    const next = this.#next(members.known())
    if (next !== undefined) await members.check(next.id)
    this.#timer = undefined
    if (members.known().length > 0) this.start()
  }

  #report(crashed: Instance): void {
    const { members } = this.#options
    if (this.#next([...members.known(), crashed])?.id === crashed.id)
      members.publish({ kind: 'instance-lost', instance: writeInstance(crashed) })
  }

  /** The successor: the instance with the least id above this one's, or the least of all. */
  #next(among: readonly Instance[]): Instance | undefined {
    const { self } = this.#options
    const sorted = among.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    return sorted.find(({ id }) => id > self.id) ?? sorted[0]
  }
}
