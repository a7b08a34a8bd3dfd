/**
 * Loads the optional dependency `pg` at the first use. It stands in a file of its own because the public types must not
 * import those of `pg`.
 */
import type * as Pg from 'pg'
import { StateError } from '../state/internal.ts'

export async function loadPg(): Promise<typeof Pg> {
  try {
    return await import('pg')
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing) throw cause
    throw new StateError('STORE_UNAVAILABLE', 'PostgreSQL needs the package pg; run `npm install pg`.', { cause })
  }
}
