export { postgresCarryStore } from './carryStore.ts'
export { type PostgresConnection, type PostgresOptions, postgres } from './database.ts'
export { postgresLedger } from './ledger.ts'
export { type PostgresTasksOptions, postgresEngine, postgresTasks } from './tasks/engine.ts'
