import { isRoundEnded, JournalError } from '../../journal/index.ts'
import { ServerError } from '../errors.ts'

const draining = new Set<() => Promise<void>>()

/** On SIGTERM every registered server drains; then the process exits. Gives the function that unregisters. */
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
 * A handler may leave a chained ask unawaited (`ctx.ask(…).then(…)`). When its round ends, or when the client declines,
 * cancels or disconnects, that promise rejects without a handler, which would end the process. A client must not be
 * able to do that, so these rejections are ignored. Every other unhandled rejection has its usual effect.
 */
export function ignoreRejectedAsks(): void {
  if (quiet) return
  quiet = true
  process.on('unhandledRejection', (reason) => {
    if (isOfAsking(reason) || process.listenerCount('unhandledRejection') > 1) return
    throw reason
  })
}

function isOfAsking(reason: unknown): boolean {
  return (
    isRoundEnded(reason) ||
    reason instanceof JournalError ||
    (reason instanceof ServerError && reason.code === 'PUSH_UNANSWERED')
  )
}
