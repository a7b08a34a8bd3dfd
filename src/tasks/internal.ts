/** What other folders of this package need, and its users do not. Nothing is promised about these names. */
export {
  type Answers,
  type EngineHost,
  type EngineOptions,
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
export { type EngineSettings, engineSettings } from './engineSettings.ts'
export { entryText, objectText, readEntry, readObject, readString } from './entry.ts'
export {
  cursorUnknown,
  entryTooLarge,
  LOST_TOO_OFTEN,
  type LossReason,
  leaseLost,
  TaskError,
  UNREADABLE,
} from './errors.ts'
export { answeredBefore, journalOf, MOST_TIMES_ALONE, nextWireKey } from './journalRows.ts'
export { tasksOn } from './service/service.ts'
export type { DeskOptions } from './service/settings.ts'
