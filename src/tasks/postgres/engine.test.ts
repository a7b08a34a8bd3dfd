import { newPostgresStore } from '../../../test/postgres/engineStore.ts'
import { engineContract } from '../engineContract.ts'

engineContract('the engine in PostgreSQL', newPostgresStore)
