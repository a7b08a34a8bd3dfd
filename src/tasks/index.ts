export { tasksOn } from './desk.ts'
export type { DeskOptions } from './deskSettings.ts'
export type {
  Answers,
  EngineHost,
  EngineOptions,
  Lease,
  NewQuestion,
  NewTask,
  Page,
  TaskEnd,
  TaskEngine,
  TaskFailure,
  TaskRecord,
  Working,
  WorkOptions,
} from './engine.ts'
export { TASK_CODES, type TaskCode, TaskError } from './errors.ts'
export { type Move, movingEngine } from './movingEngine.ts'
export { type PostgresConnection, type PostgresOptions, postgres } from './postgres/connection.ts'
export { postgresEngine } from './postgres/engine.ts'
export { postgresCarryStore } from './postgres/postgresCarryStore.ts'
export { postgresLedger } from './postgres/postgresLedger.ts'
export { type PostgresTasksOptions, postgresTasks } from './postgresTasks.ts'
export { type SqliteEngineOptions, sqliteEngine } from './sqlite/engine.ts'
export { type SqliteTasksOptions, sqliteTasks } from './sqliteTasks.ts'
