import { newPostgresStore } from '../../../test/tasks/contract/postgresStore.ts'
import { engineContract } from '../../../test/tasks/contract/contract.ts'

engineContract('the engine in PostgreSQL', 'losses', newPostgresStore)
