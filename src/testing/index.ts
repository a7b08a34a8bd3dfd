export type { Answer, Answers } from './answers.ts'
export {
  EXERCISE_CODES,
  type ExerciseCode,
  ExerciseError,
  FINDING_CODES,
  type FindingCode,
} from './errors.ts'
export { type ExerciseOptions, exercise } from './exercise.ts'
export type { Finding } from './findings.ts'
export { type Recorder, recorder } from './recorder.ts'
export { assertSound, type Report, type RoundReport } from './report.ts'
export type { ExerciseCall } from './request.ts'
export type { MakeServer, Overrides, Principals } from './harness.ts'
