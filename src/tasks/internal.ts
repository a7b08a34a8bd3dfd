/**
 * What the PostgreSQL engine in src/postgres shares with the SQLite engine. Its types are public and stand in the index
 * as well; the index also passes on the names of src/postgres, which therefore cannot import it.
 */
export {
  ENGINE_OPTIONS,
  type TaskAnswers,
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
  type TaskProgress,
  type TaskRecord,
  type Working,
  type WorkOptions,
} from './engine.ts'
export {
  approversText,
  entryText,
  objectText,
  type QuestionText,
  progressText,
  readApprovers,
  readEntry,
  readProgress,
  readObject,
  readString,
  textOrNull,
} from './entry.ts'
export {
  cursorUnknown,
  LOST_TOO_OFTEN,
  type LossReason,
  leaseLost,
  TaskError,
  UNREADABLE,
} from './errors.ts'
export {
  fairShares,
  MAX_CALLERS,
  MEMBERS_SHARE,
  refusalOfTask,
  type Unfinished,
  type WaitingCaller,
} from './fairness.ts'
export { answeredBefore, journalOf, MAX_AUTOMATIC_REPEATS, nextWireKey } from './journalRows.ts'
export { createTasks, SERVICE_OPTIONS, type TaskServiceOptions } from './service/service.ts'
export { retryMs, TrialSlot } from './trial.ts'
