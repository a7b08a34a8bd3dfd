import { isObject } from '../../../protocol/index.ts'
import { type EventBus, localBus, type ServerEvent } from '../../lifecycle/eventBus.ts'
import type { Peers } from '../peers.ts'

/**
 * A bus over the instances that have met: what one publishes, the others hear. Used where no other bus is configured.
 */
export interface PeerBus extends EventBus {
  /** Events that another instance published, as its message has them. */
  hear(events: unknown): void
}

export function peerBus(peers: Peers): PeerBus {
  const here = localBus()
  return {
    subscribe: here.subscribe,
    hear: (events) => {
      for (const event of Array.isArray(events) ? (events as readonly unknown[]) : [])
        if (isObject(event)) here.publish(event as unknown as ServerEvent)
    },
    publish: (event) => {
      here.publish(event)
      peers.publish(event)
    },
  }
}
