/**
 * A rejection that nobody hears fails the run. Vitest leaves it alone once somebody else listens, as every process with
 * an open server does (src/server/lifecycle/signals.ts). Thrown here, it reaches Vitest as an uncaught exception.
 */
import { JOURNAL_CODES } from '../src/journal/errors.ts'

/** What a client does to a question may reject with nobody to hear it, and is meant to pass in silence. */
const silent: ReadonlySet<unknown> = new Set(['RoundEnded', ...JOURNAL_CODES, 'PUSH_UNANSWERED'])

export function throwUnheard(reason: unknown): void {
  const { name, code }: { name?: unknown; code?: unknown } = reason instanceof Error ? reason : {}
  if (!silent.has(name) && !silent.has(code)) throw reason
}

// Files that share a worker share its listeners.
const isListening = process.listeners('unhandledRejection').some(({ name }) => name === throwUnheard.name)
if (!isListening) process.on('unhandledRejection', throwUnheard)
