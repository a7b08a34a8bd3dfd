/**
 * A write of a run that has to happen. A store that is away for a while comes back, and meanwhile nothing is lost: the
 * write is tried again until it is made or the lease is.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { StateError } from '../../state/internal.ts'
import { leaseLost } from '../errors.ts'

const FIRST_PAUSE_MS = 25
const LONGEST_PAUSE_MS = 2000

/** `onAway` is told once, with why the write has to wait. */
export async function retryWrite<T>(
  write: () => Promise<T>,
  signal: AbortSignal,
  onAway?: (error: StateError) => void,
): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    if (signal.aborted) throw leaseLost('taken')
    try {
      return await write()
    } catch (error) {
      if (!isTransient(error)) throw error
      if (pauseMs === FIRST_PAUSE_MS) onAway?.(error)
    }
    await sleep(pauseMs, undefined, { signal }).catch(() => {})
  }
}

function isTransient(error: unknown): error is StateError {
  return error instanceof StateError && (error.code === 'STORE_UNAVAILABLE' || error.code === 'STORE_FULL')
}
