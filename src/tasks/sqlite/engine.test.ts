import { engineContract } from '../engineContract.ts'
import { temporaryStore } from './temporaryStore.ts'

engineContract('an engine in SQLite', temporaryStore)
