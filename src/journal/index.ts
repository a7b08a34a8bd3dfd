export { MAX_ASKS } from './asks.ts'
export { Declined, JournalError, ScopeClosed } from './errors.ts'
export {
  type AnsweredBy,
  type Approvers,
  type CallTrace,
  isBlank,
  type Journal,
  newJournal,
  nextRound,
  readJournal,
  writeJournal,
} from './journal.ts'
export { isGivenRejection } from './givenPromises.ts'
export { answererOf, type Question, type Reading } from './question.ts'
export { isRoundEnded } from './roundLifecycle.ts'
export { type Outcome, Run, type RunOptions, UNWIND_MS } from './run.ts'
export type { OnceOptions, SharedClaims, Watch } from './steps.ts'
export type { Stored } from './storable.ts'
