/** Exports for src/postgres. It cannot import the index, which re-exports the names of src/postgres. */
export { ENGINE_OPTIONS, type EngineOptions, type EngineSettings, engineSettings, type TaskEngine } from './engine.ts'
export { TaskError } from './errors.ts'
export { type LeaseTimes, leaseTimes } from './leaseTimes.ts'
export { createTasks, SERVICE_OPTIONS, type TaskServiceOptions } from './service/service.ts'
export type {
  Dialect,
  DriverListener,
  SqlValue,
  Statement,
  TaskDriver,
  TaskEvent,
  Transaction,
} from './sql/driver.ts'
export { LoginFailed, PageLogin } from './pages/login.ts'
export { loginSettings } from './pages/loginSettings.ts'
export { sqlEngine } from './sql/engine.ts'
