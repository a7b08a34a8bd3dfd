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
 * Ignores unhandled rejections of promises that a context gave (`ctx.ask(…).then(…)`), or that its signal aborts. They reject
 * when a round ends, and when a client declines, cancels or disconnects; so without this a client could end the process. Their calls have
 * failed, and the log has the reason. Every other unhandled rejection ends the process as usual.
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
