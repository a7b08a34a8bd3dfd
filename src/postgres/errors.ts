/**
 * Says what to do when the database fails.
 *
 * A server's error may quote rows in its details, so the cause keeps its code and its sentence only.
 */
import { StateError } from '../state/internal.ts'
import { TaskError } from '../tasks/internal.ts'

type Fault = readonly [code: 'STORE_UNAVAILABLE' | 'STORE_CORRUPT' | 'STORE_FULL', sentence: string]

const RESTORE = 'restore the schema from a backup, or give this program a schema of its own'

// By SQLSTATE, the whole or its class of two characters.
const FAULTS: Readonly<Record<string, Fault>> = {
  '08': unreachable(),
  '57': unreachable(),
  '28': ['STORE_UNAVAILABLE', 'The database refuses this user; check name, password and pg_hba.conf.'],
  '3D': ['STORE_UNAVAILABLE', 'There is no such database on the server; create it, or correct the address.'],
  '42501': [
    'STORE_UNAVAILABLE',
    'The database user lacks a right; let it create schemas, or create them and grant it their use.',
  ],
  '42P07': foreignTables(),
  '42710': foreignTables(),
  '42': ['STORE_CORRUPT', `A table, a column or a function is missing in the database; ${RESTORE}.`],
  '3F': ['STORE_CORRUPT', `A schema is missing in the database; ${RESTORE}.`],
  XX: ['STORE_CORRUPT', `The database is damaged; ${RESTORE}.`],
  '53100': ['STORE_FULL', 'The disk of the database is full; make room.'],
  '53300': ['STORE_UNAVAILABLE', 'The database takes no more connections; use fewer, or raise max_connections.'],
  '25006': ['STORE_UNAVAILABLE', 'The database is read-only; connect to the primary.'],
  '25P03': ['STORE_UNAVAILABLE', 'The process was held up inside a transaction, which was undone; try again.'],
  '40': ['STORE_UNAVAILABLE', 'The transaction met another one and was undone; try again.'],
  '26': [
    'STORE_UNAVAILABLE',
    'A pooler forgets prepared statements; let it keep sessions, or set its max_prepared_statements.',
  ],
}

function foreignTables(): Fault {
  return ['STORE_CORRUPT', `The schema holds tables of another program, or only some of ours; ${RESTORE}.`]
}

function unreachable(): Fault {
  return ['STORE_UNAVAILABLE', 'The database cannot be reached (any more); check its address, and that it is up.']
}

function statementRefused(): Fault {
  return ['STORE_UNAVAILABLE', 'The database refuses a statement; the cause, and its log, say why.']
}

// Unlike the codes of Node, such as EPIPE, it has a digit.
const SQL_STATE = /^(?=.*\d)[0-9A-Z]{5}$/

/**
 * Whether our code is at fault, as JavaScript itself says it, and not the database or the way to it. Errors with a code
 * are Node's or those of `pg`, and may have an address with its password on them.
 */
function isProgrammingError(error: unknown): boolean {
  const isFault = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
  return isFault && !('code' in error)
}

/** What the database or the way to it threw, as an error of ours. */
function storeFault(error: unknown): StateError | TaskError {
  if (error instanceof StateError || error instanceof TaskError) return error
  const state = sqlState(error)
  const [code, sentence] =
    FAULTS[state] ?? FAULTS[state.slice(0, 2)] ?? (isServerError(error) ? statementRefused() : unreachable())
  return new StateError(code, sentence, { cause: withoutDetails(error, state) })
}

/** Whether the connection is sound: the database, or we ourselves, said no to a statement. */
export function isServerError(error: unknown): boolean {
  return error instanceof StateError || error instanceof TaskError || SQL_STATE.test(sqlState(error))
}

/** Runs something against the database, and says what to do when that fails. What else fails is passed on as it is. */
export async function withPostgresErrors<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    throw isProgrammingError(error) ? error : storeFault(error)
  }
}

function sqlState(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function withoutDetails(error: unknown, code: string): Error {
  const message = error instanceof Error ? error.message : 'unknown'
  return Object.assign(new Error(message), { code })
}
