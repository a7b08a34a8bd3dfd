import type { Stage } from './stages.ts'
import type { Failure } from './verdict.ts'

/** A failure of a stage that ran beside others. */
export interface StageFailure {
  stage: Stage
  failure: Failure
}

export interface Repeated {
  failed: readonly StageFailure[]
  /** What failed beside the other stages and then passed alone. */
  unsteady: readonly StageFailure[]
}

/** More failures than this are no unsteadiness, and nothing is run again. */
const mostRepeated = 5

/** Runs what failed once more, one after the other, when nothing else runs. What passes then has passed. */
export async function repeatAlone(failures: readonly StageFailure[]): Promise<Repeated> {
  if (failures.length > mostRepeated) return { failed: failures, unsteady: [] }
  const failed: StageFailure[] = []
  const unsteady: StageFailure[] = []
  for (const each of failures) {
    const passes = (await each.stage.passesAlone?.(each.failure)) ?? false
    if (passes) unsteady.push(each)
    else failed.push(each)
  }
  return { failed, unsteady }
}
