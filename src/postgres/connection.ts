import { StateError } from '../state/index.ts'
import { Database } from './database.ts'
import { assertOptions, type PostgresOptions } from './options.ts'

export type { PostgresOptions }

/** What engines, ledgers and stores of one process share: connections, and a schema that is up to date. */
export interface PostgresConnection {
  /** Ends the connections that were made here. Close engines first. */
  close(): Promise<void>
}

/** A database for engines, ledgers and stores. It is connected to when it is first used. */
export function postgres(options: PostgresOptions): PostgresConnection {
  assertOptions(options)
  return new Database(options)
}

/** What is behind a connection. */
export function databaseOf(connection: PostgresConnection): Database {
  if (connection instanceof Database) return connection
  throw new StateError('STATE_OPTION', 'A connection to PostgreSQL is what postgres() gives.')
}
