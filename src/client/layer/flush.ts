/** Flush on close: notifications and responses that are being sent still go out, and a session is ended on the server. */
import { settledWithin } from '../../protocol/index.ts'
import { createLayer } from './layer.ts'
import type { Layer } from './transport.ts'
import { isRequest } from './message.ts'

/** How long each of the two may take. */
const LIMIT_MS = 1_000

export interface FlushOnClose {
  /** Sees what is being sent. The innermost layer, and one more below each layer that sends messages of its own. */
  readonly layer: Layer
  /** Resolves when everything was sent and the session is ended, or when the time for that is over. */
  flush(): Promise<void>
  /** Whether `flush` was called. */
  isClosing(): boolean
}

export function flushOnClose(endSession: () => Promise<void>): FlushOnClose {
  const pending = new Set<Promise<void>>()
  let isClosing = false
  return {
    isClosing: () => isClosing,
    layer: (transport) =>
      createLayer(transport, (context) => ({
        send(message, options) {
          const sending = context.send(message, options)
          // Over HTTP sending a request ends with its answer, which may never come. Only `tasks/cancel` is waited for.
          if (isRequest(message) && message.method !== 'tasks/cancel') return sending
          pending.add(sending)
          return sending.finally(() => pending.delete(sending))
        },
      })),
    async flush() {
      isClosing = true
      await settledWithin(Promise.allSettled(pending), LIMIT_MS)
      await settledWithin(
        endSession().catch(() => undefined),
        LIMIT_MS,
      )
    },
  }
}
