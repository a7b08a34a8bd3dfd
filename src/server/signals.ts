import { isRoundEnded } from '../journal/index.ts'

const draining = new Set<() => Promise<void>>()

/** On SIGTERM every server of this process drains; then the process ends. Gives the function that takes this back. */
export function drainOnTerm(drain: () => Promise<void>): () => void {
  if (draining.size === 0) process.on('SIGTERM', drainAll)
  draining.add(drain)
  return () => {
    draining.delete(drain)
    if (draining.size === 0) process.off('SIGTERM', drainAll)
  }
}

function drainAll(): void {
  void Promise.allSettled(Array.from(draining, (drain) => drain())).then(() => process.exit(0))
}

let quiet = false

/**
 * A handler may leave a chained ask unawaited (`ctx.ask(…).then(…)`). When its round ends, that promise rejects with
 * nobody to hear it, which must not take the process down. Every other unheard rejection keeps its usual consequence.
 */
export function keepRoundsQuiet(): void {
  if (quiet) return
  quiet = true
  process.on('unhandledRejection', (reason) => {
    if (isRoundEnded(reason) || process.listenerCount('unhandledRejection') > 1) return
    throw reason
  })
}
