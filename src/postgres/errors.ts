/**
 * Turns errors of PostgreSQL and of the connection to it into a StateError that says what to do.
 *
 * The details of a PostgreSQL error may quote rows, so the cause keeps the code and the message only.
 */
import { StateError } from '../state/internal.ts'
import { TaskError } from '../tasks/internal.ts'

type Fault = readonly [code: 'STORE_UNAVAILABLE' | 'STORE_CORRUPT' | 'STORE_FULL', sentence: string]

const RESTORE = 'restore the schema from a backup, or give this program a schema of its own'

// Keyed by SQLSTATE, or by its class, the first two characters.
const FAULTS: Readonly<Record<string, Fault>> = {
  '08': databaseUnreachable(),
  '57': databaseUnreachable(),
  '28': ['STORE_UNAVAILABLE', 'The database refuses this user; check name, password and pg_hba.conf.'],
  '3D': ['STORE_UNAVAILABLE', 'There is no such database on the server; create it, or correct the address.'],
  '42501': [
    'STORE_UNAVAILABLE',
    'The database user lacks a right; let it create schemas, or create them and grant it access.',
  ],
  '42P07': foreignTables(),
  '42710': foreignTables(),
  '42': ['STORE_CORRUPT', `A table, a column or a function is missing in the database; ${RESTORE}.`],
  '3F': ['STORE_CORRUPT', `A schema is missing in the database; ${RESTORE}.`],
  XX: ['STORE_CORRUPT', `The database is damaged; ${RESTORE}.`],
  '53100': ['STORE_FULL', 'The disk of the database is full; make room.'],
  '53300': ['STORE_UNAVAILABLE', 'The database takes no more connections; use fewer, or raise max_connections.'],
  '25006': ['STORE_UNAVAILABLE', 'The database is read-only; connect to the primary.'],
  '25P03': ['STORE_UNAVAILABLE', 'The process was delayed inside a transaction, which was rolled back; try again.'],
  '40': ['STORE_UNAVAILABLE', 'The transaction conflicted with another one and was rolled back; try again.'],
  '26': [
    'STORE_UNAVAILABLE',
    'A connection pooler loses prepared statements; use its session mode, or set its max_prepared_statements.',
  ],
}

function foreignTables(): Fault {
  return ['STORE_CORRUPT', `The schema holds tables of another program, or only some of ours; ${RESTORE}.`]
}

function databaseUnreachable(): Fault {
  return ['STORE_UNAVAILABLE', 'The database cannot be reached; check its address, and that it is up.']
}

function statementRefused(): Fault {
  return ['STORE_UNAVAILABLE', 'The database refuses a statement; see the cause and the log of the database.']
}

// A SQLSTATE contains a digit, unlike error codes of Node such as EPIPE.
const SQL_STATE = /^(?=.*\d)[0-9A-Z]{5}$/

/**
 * Whether this is a programming error and not one of the database or the connection. Errors with a code come from Node or
 * `pg`, and may contain the address with its password.
 */
function isProgrammingError(error: unknown): boolean {
  const isFault = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
  return isFault && !('code' in error)
}

/** An error of the database or the connection as a StateError. */
function storeFault(error: unknown): StateError | TaskError {
  if (error instanceof StateError || error instanceof TaskError) return error
  const state = sqlState(error)
  const [code, sentence] =
    FAULTS[state] ?? FAULTS[state.slice(0, 2)] ?? (isServerError(error) ? statementRefused() : databaseUnreachable())
  return new StateError(code, sentence, { cause: withoutDetails(error, state) })
}

/** Whether the connection still works: the database answered with an error, or our own code threw one. */
export function isServerError(error: unknown): boolean {
  return error instanceof StateError || error instanceof TaskError || SQL_STATE.test(sqlState(error))
}

/** Runs a function that uses the database and converts its errors. Programming errors pass unchanged. */
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
