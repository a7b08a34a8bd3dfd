/** Leaving properly: messages that nobody waits for are still sent, and a session of the older era is ended. */
import { createLayer } from './layer.ts'
import type { Layer } from './transport.ts'
import { isRequest } from './message.ts'

const PATIENCE_MS = 1_000

export interface FlushOnClose {
  /** Sees what is on its way. The innermost layer, and below each that sends by itself. */
  readonly layer: Layer
  /** Comes back when it has arrived, or after a second. */
  flush(): Promise<void>
  /** Whether it is being said, or was. */
  isClosing(): boolean
}

export function flushOnClose(endSession: () => Promise<void>): FlushOnClose {
  const underWay = new Set<Promise<void>>()
  let isSaid = false
  return {
    isClosing: () => isSaid,
    layer: (transport) =>
      createLayer(transport, (ends) => ({
        // A request is under way until its answer comes, which may be never. To cancel a task is one that has to go.
        send(message, options) {
          const sending = ends.send(message, options)
          if (isRequest(message) && message.method !== 'tasks/cancel') return sending
          underWay.add(sending)
          return sending.finally(() => underWay.delete(sending))
        },
      })),
    async flush() {
      isSaid = true
      await withinPatience(Promise.allSettled(underWay))
      await withinPatience(endSession().catch(() => undefined))
    },
  }
}

async function withinPatience(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS)
  })
  await Promise.race([work, limit])
  clearTimeout(timer)
}
