/**
 * An unhandled rejection fails the run. Vitest ignores it once another listener is there, and every process with an open
 * server has one (src/server/lifecycle/processSignals.ts). Thrown here, the reason reaches Vitest as an uncaught exception.
 */
import { JOURNAL_CODES } from '../src/journal/errors.ts'

/** A question that a client declines or leaves may reject without a handler. These are not failures. */
const silent: ReadonlySet<unknown> = new Set(['RoundEnded', ...JOURNAL_CODES, 'PUSH_UNANSWERED'])

export function throwUnhandled(reason: unknown): void {
  const { name, code }: { name?: unknown; code?: unknown } = reason instanceof Error ? reason : {}
  if (!silent.has(name) && !silent.has(code)) throw reason
}

// Files that share a worker share its listeners.
const isListening = process.listeners('unhandledRejection').some(({ name }) => name === throwUnhandled.name)
if (!isListening) process.on('unhandledRejection', throwUnhandled)
