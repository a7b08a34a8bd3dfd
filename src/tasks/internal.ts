/** What other folders of this package need, and its users do not. Nothing is promised about these names. */
export {
  type Answers,
  type EngineHost,
  type EngineOptions,
  type EngineSettings,
  engineSettings,
  type Lease,
  type NewQuestion,
  type NewTask,
  PAGE_BYTES,
  type Page,
  type TaskEnd,
  type TaskEngine,
  type TaskFailure,
  type TaskRecord,
  type Working,
  type WorkOptions,
} from './engine.ts'
export { entryText, objectText, readEntry, readObject, readString } from './entry.ts'
export {
  cursorUnknown,
  LOST_TOO_OFTEN,
  type LossReason,
  leaseLost,
  TaskError,
  UNREADABLE,
} from './errors.ts'
export { answeredBefore, journalOf, MAX_AUTOMATIC_REPEATS, nextWireKey } from './journalRows.ts'
export { type TaskServiceOptions, createTasks } from './service/service.ts'
