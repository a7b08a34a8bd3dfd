export { type TaskServiceOptions, createTasks } from './service/service.ts'
export type {
  TaskAnswers,
  EngineHost,
  EngineOptions,
  Lease,
  NewQuestion,
  NewTask,
  Page,
  TaskEnd,
  TaskEngine,
  TaskFailure,
  TaskProgress,
  TaskRecord,
  Working,
  WorkOptions,
} from './engine.ts'
export { TASK_CODES, type TaskCode, TaskError } from './errors.ts'
export { type Move, movingEngine } from './movingEngine.ts'
// The names of pannier/postgres, which were exported by pannier/tasks first.
export {
  type PostgresConnection,
  type PostgresOptions,
  type PostgresTasksOptions,
  postgres,
  postgresCarryStore,
  postgresEngine,
  postgresLedger,
  postgresTasks,
} from '../postgres/index.ts'
export { sqliteStore } from './sqlite/workStore.ts'
export { type SqliteEngineOptions, type SqliteTasksOptions, sqliteEngine, sqliteTasks } from './sqlite/engine.ts'
