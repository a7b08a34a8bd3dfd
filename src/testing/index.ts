export type { Answer, Answers } from './flow.ts'
export {
  EXERCISE_CODES,
  type ExerciseCode,
  ExerciseError,
  FINDING_CODES,
  type FindingCode,
} from './errors.ts'
export { type ExerciseOptions, exercise, assertSound, type Report, type RoundReport } from './exercise.ts'
export type { Finding } from './findings.ts'
export { type Recorder, recorder } from './recorder.ts'
export type { ExerciseCall } from './request.ts'
export { testClient, type TestClientOptions } from './testClient.ts'
export type { MakeServer, Overrides, Principals } from './harness.ts'
