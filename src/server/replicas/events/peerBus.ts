import { isObject } from '../../../protocol/index.ts'
import { type EventBus, localBus, type ServerEvent } from '../../lifecycle/eventBus.ts'
import type { Peers } from '../peers.ts'

/**
 * A bus over the instances that have met: what one publishes, the others hear. Where another bus is configured, only
 * cancellations go by this one, too.
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

/**
 * A configured bus, and beside it the instances that have met for cancellations: whoever gives up a call wants it to end, also
 * while what carries the bus is away. A call that is cancelled twice ends once.
 */
export function withCancellations(bus: EventBus, peers: Peers, between: PeerBus): EventBus {
  return {
    publish: (event) => {
      bus.publish(event)
      if (event.kind === 'cancelled') peers.publish(event)
    },
    subscribe: (listener) => {
      const stops = [
        bus.subscribe(listener),
        between.subscribe((event) => {
          if (event.kind === 'cancelled') listener(event)
        }),
      ]
      return () => {
        for (const stop of stops) stop()
      }
    },
  }
}
