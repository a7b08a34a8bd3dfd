import type { Load } from './load.ts'

/** A way in for requests. */
export interface DrainableHost {
  /** Lets nobody else in; resolves when everybody who was let in has an answer. */
  drain(): Promise<void>
}

/** How long answers that are made may take to leave, in milliseconds. */
const LEAVING_MS = 1000

/** Lets calls under way finish or hand over, and their answers leave. What has not by the deadline is given up. */
export async function drainAll(hosts: Iterable<DrainableHost>, load: Load, deadlineMs: number): Promise<void> {
  const deadline = performance.now() + deadlineMs
  const left = (): number => Math.max(0, deadline - performance.now())
  let idle = load.drain(deadlineMs)
  const drained = Promise.all(Array.from(hosts, (host) => host.drain()))
  do {
    await idle
    await Promise.race([drained, new Promise((resolve) => setTimeout(resolve, LEAVING_MS).unref())])
    // A connection that was open already may have brought another call meanwhile.
    idle = load.drain(left())
  } while (load.inFlight > 0 && left() > 0)
}
