import type { EventBus, ServerEvent } from '../lifecycle/eventBus.ts'
import { localBus } from '../lifecycle/eventBus.ts'
import type { Peers } from './peers.ts'

/**
 * A bus over the instances that have met: what one publishes, the others hear. Used where no other bus is configured.
 */
export interface PeerBus extends EventBus {
  /** An event that another instance published. */
  hear(event: ServerEvent): void
}

export function peerBus(peers: Peers): PeerBus {
  const here = localBus()
  return {
    subscribe: here.subscribe,
    hear: here.publish,
    publish: (event) => {
      here.publish(event)
      peers.publish(event)
    },
  }
}
