/** Retries a write of a run while the store is unavailable, until it succeeds or the lease is lost. */
import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import { leaseLost } from '../errors.ts'

const BACKOFF = { firstMs: 25, maxMs: 2000 }

/** Calls `onUnavailable` once, with the first error. */
export async function retryWrite<T>(
  write: () => Promise<T>,
  signal: AbortSignal,
  onUnavailable?: (error: StateError) => void,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    if (signal.aborted) throw leaseLost('taken')
    try {
      return await write()
    } catch (error) {
      if (!isTransient(error)) throw error
      if (attempt === 1) onUnavailable?.(error)
    }
    await sleep(backoffMs(attempt, BACKOFF), undefined, { signal }).catch(() => {})
  }
}

function isTransient(error: unknown): error is StateError {
  return error instanceof StateError && (error.code === 'STORE_UNAVAILABLE' || error.code === 'STORE_FULL')
}
