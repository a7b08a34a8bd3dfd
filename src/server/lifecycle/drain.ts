import { settledWithin, unref } from '../../protocol/index.ts'
import type { Load } from './load.ts'

/** A host that can be drained: an HTTP server or a stdio connection. */
export interface DrainableHost {
  /** Accepts no new connections; resolves when all requests of the open ones are answered. */
  drain(): Promise<void>
}

/** The default time of a drain. */
export const DRAIN_MS = 25_000
/** Maximum time after the last call to send answers and close idle connections, in milliseconds. */
const LEAVING_MS = 5000
/** The same when the deadline has passed. */
const LATE_LEAVING_MS = 1000

/**
 * Waits until calls in flight finish or hand over and their answers are sent, at most until the deadline. `awaited`: until
 * this resolves, clients may come back for calls that wait for them, which are not in flight meanwhile.
 */
export async function drainAll(
  hosts: Iterable<DrainableHost>,
  load: Load,
  deadlineMs: number,
  awaited?: Promise<void>,
): Promise<void> {
  const deadline = performance.now() + deadlineMs
  const left = (): number => Math.max(0, deadline - performance.now())
  let idle = load.drain(deadlineMs)
  const drained = Promise.all(Array.from(hosts, (host) => host.drain()))
  await settledWithin(awaited, deadlineMs)
  do {
    await idle
    const leavingMs = Math.min(LEAVING_MS, Math.max(LATE_LEAVING_MS, left()))
    await Promise.race([drained, new Promise((resolve) => unref(setTimeout(resolve, leavingMs)))])
    // A connection that was still open may have brought another call.
    idle = load.drain(left())
  } while (load.inFlight > 0 && left() > 0)
}
