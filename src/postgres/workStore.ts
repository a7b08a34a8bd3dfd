/** One store in a database: carried states, tasks with their questions, and single uses. */
import type { WorkStore } from '../server/index.ts'
import type { PostgresConnection } from './database.ts'
import { postgresCarryStore } from './stores/carryStore.ts'
import { postgresLedger } from './stores/ledger.ts'
import { postgresTasks, type PostgresTasksOptions } from './tasks/engine.ts'

/** For `createServer({ store })`, at every instance. */
export function postgresStore(connection: PostgresConnection, options: PostgresTasksOptions = {}): WorkStore {
  const tasks = postgresTasks(connection, options)
  return { ...postgresCarryStore(connection), tasks, ledger: postgresLedger(connection) }
}
