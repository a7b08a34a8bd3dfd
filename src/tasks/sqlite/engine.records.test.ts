import { engineContract } from '../../../test/tasks/contract/contract.ts'
import { newSqliteStore } from '../../../test/tasks/contract/sqliteStore.ts'

engineContract('an engine in SQLite', 'records', newSqliteStore)
