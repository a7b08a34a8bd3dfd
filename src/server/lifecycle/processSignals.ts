import { host } from '../../protocol/index.ts'
import { isGivenRejection } from '../../journal/index.ts'

const draining = new Set<() => Promise<void>>()

/** Drains every registered server on SIGTERM, then exits. Returns the function that unregisters. */
export function drainOnTerm(drain: () => Promise<void>): () => void {
  if (draining.size === 0) process.on('SIGTERM', drainAndExit)
  draining.add(drain)
  return () => {
    draining.delete(drain)
    if (draining.size === 0) process.off('SIGTERM', drainAndExit)
  }
}

function drainAndExit(): void {
  void Promise.allSettled(Array.from(draining, (drain) => drain())).then(() => process.exit(0))
}

let quiet = false

/**
 * A handler may leave a promise of its context unawaited (`ctx.ask(…).then(…)`), or something that its signal aborts. When
 * its round ends, or when the client declines, cancels or disconnects, that rejects without a handler, which would end the
 * process. A client must not be able to do that, so rejections that follow from a context are ignored: the call they belong to has failed
 * because of them, or because its handler did not wait, and the log tells of it. Every other unhandled rejection has its usual effect.
 */
export function ignoreRejectedAsks(): void {
  if (quiet) return
  quiet = true
  host?.on?.('unhandledRejection', (reason, promise) => {
    const isOurs = isGivenRejection(reason, promise)
    if (isOurs || process.listenerCount('unhandledRejection') > 1) return
    throw reason
  })
}
