import { isRoundEnded } from '../journal/index.ts'

/** Drains on SIGTERM, then ends the process as the signal would have. */
export function onTerm(drain: () => Promise<void>): void {
  keepRoundsQuiet()
  process.once('SIGTERM', () => {
    void drain().finally(() => process.exit(0))
  })
}

let quiet = false

/**
 * A handler may leave a chained ask unawaited (`ctx.ask(…).then(…)`). When its round ends, that promise rejects with
 * nobody to hear it, which must not take the process down. Every other unheard rejection keeps its usual consequence.
 */
function keepRoundsQuiet(): void {
  if (quiet) return
  quiet = true
  process.on('unhandledRejection', (reason) => {
    if (isRoundEnded(reason) || process.listenerCount('unhandledRejection') > 1) return
    throw reason
  })
}
