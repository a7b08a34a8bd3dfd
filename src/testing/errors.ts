import { CodedError } from '../protocol/index.ts'

/** The codes of the faults that `exercise` finds in a tool. `docs/reference/errors.md` says what to do about each. */
export const FINDING_CODES = [
  'EFFECT_REPEATED',
  'EFFECT_AFTER_END',
  'EFFECT_BEFORE_ASKING',
  'NOT_AWAITED',
  'STEP_REPEATED',
  'ONCE_REPEATED',
  'QUESTION_CHANGED',
  'RESULT_CHANGED',
  'PROCESS_DEPENDENT',
  'ROTATION_LOST',
  'ARGUMENTS_NOT_BOUND',
  'PRINCIPAL_NOT_BOUND',
  'EXPIRY_IGNORED',
  'TAMPERING_ACCEPTED',
  'NEVER_ENDS',
  'RESULT_UNEXPECTED',
  'ANSWER_UNUSED',
] as const

export type FindingCode = (typeof FINDING_CODES)[number]

/** The codes of faults in the exercise itself, and the code of the error that `assertSound` throws. */
export const EXERCISE_CODES = ['CALL_REFUSED', 'ANSWER_MISSING', 'ANSWER_REFUSED', 'TOOL_UNSOUND'] as const

export type ExerciseCode = (typeof EXERCISE_CODES)[number]

/** A fault of the exercise itself, or the mistakes that `assertSound` found. */
export class ExerciseError extends CodedError<ExerciseCode> {
  override readonly name = 'ExerciseError'
}
