/** One store for all processes of one machine: carried states, tasks with their questions, and single uses. */
import type { WorkStore } from '../../server/index.ts'
import { sqliteCarryStore, sqliteLedger } from '../../state/stores/index.ts'
import { sqliteTasks, type SqliteTasksOptions } from './engine.ts'

/** For `createServer({ store })`. The path is that of the tasks; single uses and carried states are in files beside it. */
export function sqliteStore(path: string, options: Omit<SqliteTasksOptions, 'path'> = {}): WorkStore {
  const tasks = sqliteTasks({ path, ...options })
  const beside = (what: string): string => (path === ':memory:' ? path : `${path}-${what}`)
  const ledger = sqliteLedger({ path: beside('ledger') })
  return Object.assign(sqliteCarryStore({ path: beside('carried') }), { tasks, ledger })
}
