/**
 * Loads the optional dependencies `pg` and `pg-boss` at the first use. They stand in a file of their own because the
 * public types must not import theirs.
 */
import type * as Pg from 'pg'
import type * as Boss from 'pg-boss'
import { StateError } from '../state/internal.ts'

export function loadPg(): Promise<typeof Pg> {
  return installed(import('pg'))
}

export function loadPgBoss(): Promise<typeof Boss> {
  return installed(import('pg-boss'))
}

async function installed<Module>(loading: Promise<Module>): Promise<Module> {
  try {
    return await loading
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing) throw cause
    throw new StateError(
      'STORE_UNAVAILABLE',
      'PostgreSQL needs the packages pg and pg-boss; run `npm install pg pg-boss@12.35.0`.',
      { cause },
    )
  }
}
