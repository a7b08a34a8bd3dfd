/**
 * An unhandled rejection fails the run. Vitest ignores it once another listener is there, and every process with an open
 * server has one (src/server/lifecycle/processSignals.ts). Thrown here, the reason reaches Vitest as an uncaught exception.
 */
import { isGivenRejection } from '../src/journal/index.ts'

/** A question that a client declines or leaves may reject without a handler. These are not failures. */
export function throwUnhandled(reason: unknown, promise: unknown): void {
  if (!isGivenRejection(reason, promise)) throw reason
}

// Files that share a worker share its listeners.
const isListening = process.listeners('unhandledRejection').some(({ name }) => name === throwUnhandled.name)
if (!isListening) process.on('unhandledRejection', throwUnhandled)
