/**
 * The common part of all seals of this server: the ids, the binding, and the error of a value that cannot be sealed.
 */
import { randomUuid } from '../protocol/index.ts'
import { StateError } from '../state/internal.ts'
import type { Binding } from '../state/seal/index.ts'
import type { Caller } from './call.ts'
import { ServerError } from './errors.ts'

/**
 * An unguessable id. randomUuid takes its bytes from a pool; to ask the system for a few each time costs more than a
 * seal.
 */
export function newId(): string {
  return randomUuid().replaceAll('-', '')
}

/** Binds a seal to who called, in which session. */
export function bindingOf({ principal, peer }: Caller): Binding {
  return { principal: principal?.id, session: peer.session }
}

/** The sealed token; undefined if it would be too large. */
export function sealedWithin<T>(seal: () => T): T | undefined {
  try {
    return seal()
  } catch (error) {
    return unsealed(error)
  }
}

/** Undefined if the token would be too large. */
export function unsealed(error: unknown): undefined {
  if (!(error instanceof StateError)) throw error
  if (error.code === 'STATE_TOO_LARGE') return undefined
  throw new ServerError(
    'STATE_UNSEALABLE',
    'What this call has to remember cannot be written as JSON, or nests too deep; give inputRequired plain data.',
    { cause: error },
  )
}
