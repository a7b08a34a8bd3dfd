import { engineContract } from '../../../test/tasks/contract/contract.ts'
import { temporaryStore } from '../../../test/tasks/contract/sqliteStore.ts'

engineContract('an engine in SQLite', temporaryStore)
