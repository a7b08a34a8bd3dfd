import { newPostgresStore } from '../../../test/postgres/engineStore.ts'
import { engineContract } from '../../../test/tasks/contract/contract.ts'

engineContract('the engine in PostgreSQL', newPostgresStore)
