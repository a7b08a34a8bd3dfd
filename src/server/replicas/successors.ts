/** The instances that go on with what an instance has which stops. */
import type { Json } from '../../protocol/index.ts'
import { errorDetails, type Logger } from '../logger.ts'
import type { Instance } from './instance.ts'
import type { Messenger } from './messenger.ts'
import type { Peers } from './peers.ts'

// One after the other is asked, within the time that a platform gives a process to end.
const HANDED_OVER_WITHIN_MS = 10_000
// How long an instance that stops waits for one that it could hand something to, when there was one before.
const MET_WITHIN_MS = 3000
const LOOK_AGAIN_MS = 100

export class Successors {
  readonly #peers: Peers
  readonly #messenger: Messenger
  readonly #logger: () => Logger

  constructor(peers: Peers, messenger: Messenger, logger: () => Logger) {
    this.#peers = peers
    this.#messenger = messenger
    this.#logger = logger
  }

  /** Whether another instance is there that is not being stopped. */
  async canHandOver(): Promise<boolean> {
    return (await this.#peers.staying()).length > 0
  }

  /** Gives something to another instance; gives that instance, or undefined when there is none to take it. */
  async handOver(stream: Json): Promise<Instance | undefined> {
    const refused = new Set<string>()
    const began = performance.now()
    for (;;) {
      // Looked at anew each time: where one was gone, the next one at its address may have been found.
      const peers = (await this.#peers.staying()).filter(({ id }) => !refused.has(id))
      const peer = peers[Math.floor(Math.random() * peers.length)]
      const waitedMs = performance.now() - began
      if (waitedMs > (peer === undefined ? MET_WITHIN_MS : HANDED_OVER_WITHIN_MS)) return undefined
      if (peer === undefined && !this.#peers.everMet) return undefined
      if (peer === undefined) await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
      else if (await this.#offer(peer, stream)) return peer
      else refused.add(peer.id)
    }
  }

  async #offer(peer: Instance, stream: Json): Promise<boolean> {
    try {
      const delivery = await this.#messenger.send(peer, { kind: 'adopt', stream })
      if (delivery.kind === 'delivered')
        return ((await delivery.response.json()) as { isAdopted?: unknown }).isAdopted === true
      this.#peers.lose(peer, delivery.successor)
    } catch (error) {
      this.#logger().warn({ url: peer.url, err: errorDetails(error) }, 'A call could not be handed over.')
    }
    return false
  }
}
