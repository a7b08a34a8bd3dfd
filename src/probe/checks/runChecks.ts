/** Runs the checks that apply, in order, until the request budget or the time for evidence is used up. */
import { unlessAborted } from '../../protocol/index.ts'
import type { RequestBudget } from '../budget.ts'
import type { CheckName, CheckResults, Evidence } from '../report/evidence.ts'
import { strayOutput, unrelatedRequests, getStream, resume } from './streams.ts'
import {
  bareCall,
  bareLists,
  afterDelete,
  inventedSession,
  oneSession,
  secondConnection,
  sessionIssued,
  sessionRequired,
} from './sessions.ts'
import type { ProbeCheck, ProbeCheckContext } from './check.ts'
import { eraCheck, olderEra, handles, tasks } from './selfDescription.ts'
import { addresses, replica } from './replica.ts'
import { requestState } from './requestState.ts'
import { type TimeLimit, timeLimit } from '../wire/timeLimit.ts'

/** Checks that need a live session run before the one that ends it. */
const IN_ORDER: readonly ProbeCheck[] = [
  eraCheck,
  sessionIssued,
  sessionRequired,
  secondConnection,
  oneSession,
  getStream,
  replica,
  addresses,
  resume,
  bareCall,
  requestState,
  afterDelete,
  ...bareLists,
  inventedSession,
  olderEra,
  unrelatedRequests,
  strayOutput,
  tasks,
  handles,
]

/** Which checks to run: the usual ones, all, or these. Checks that send nothing always run. */
type CheckSelection = 'usual' | 'all' | readonly CheckName[]

export interface CheckLimits {
  readonly budget: RequestBudget
  /** How long the checks that send something may take together; without it they take the time they need. */
  readonly evidenceMs?: number | undefined
}

export async function runChecks(
  context: ProbeCheckContext,
  chosen: CheckSelection,
  { budget, evidenceMs }: CheckLimits,
): Promise<CheckResults> {
  const evidence: Evidence[] = []
  const notAsked = new Set<CheckName>()
  const limit = evidenceMs === undefined ? undefined : timeLimit(evidenceMs, context.options.signal)
  for (const check of IN_ORDER) {
    const cost = check.cost(context)
    if (cost === undefined || !(cost === 0 || isChosen(check, chosen))) continue
    const found = cost > budget.left ? undefined : await runInTime(check, context, cost === 0 ? undefined : limit)
    if (found === undefined) notAsked.add(check.name)
    else evidence.push(...found)
  }
  limit?.clear()
  return { evidence, notAsked: [...notAsked] }
}

/** Undefined if the time is up; later findings are dropped. */
async function runInTime(
  check: ProbeCheck,
  context: ProbeCheckContext,
  limit: TimeLimit | undefined,
): Promise<readonly Evidence[] | undefined> {
  if (limit === undefined) return check.run(context)
  if (limit.isOver) return undefined
  try {
    return await unlessAborted(limit.signal, Promise.resolve(check.run(context)))
  } catch (error) {
    if (!limit.isOver) throw error
    return undefined
  }
}

function isChosen({ name, isUsual }: ProbeCheck, chosen: CheckSelection): boolean {
  if (chosen === 'all') return true
  return chosen === 'usual' ? isUsual : chosen.includes(name)
}
