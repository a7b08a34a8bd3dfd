/** Runs the checks that apply, in order, until the request budget is used up. */
import type { RequestBudget } from '../budget.ts'
import type { CheckName, CheckResults, Evidence } from '../report/evidence.ts'
import { strayOutput, unrelatedRequests } from './sideEffects.ts'
import { bareCall, bareLists } from './bare.ts'
import type { ProbeCheck, ProbeCheckContext } from './check.ts'
import {
  afterDelete,
  inventedSession,
  oneSession,
  secondConnection,
  sessionIssued,
  sessionRequired,
} from './sessions.ts'
import { eraCheck, olderEra } from './eras.ts'
import { getStream, resume } from './streams.ts'
import { handles, tasks } from './stored.ts'
import { addresses, replica } from './replica.ts'
import { requestState } from './requestState.ts'

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
export type CheckSelection = 'usual' | 'all' | readonly CheckName[]

export async function runChecks(
  context: ProbeCheckContext,
  chosen: CheckSelection,
  budget: RequestBudget,
): Promise<CheckResults> {
  const evidence: Evidence[] = []
  const notAsked = new Set<CheckName>()
  for (const check of IN_ORDER) {
    const cost = check.cost(context)
    if (cost === undefined || !(cost === 0 || isChosen(check, chosen))) continue
    if (cost > budget.left) notAsked.add(check.name)
    else evidence.push(...(await check.run(context)))
  }
  return { evidence, notAsked: [...notAsked] }
}

function isChosen({ name, isUsual }: ProbeCheck, chosen: CheckSelection): boolean {
  if (chosen === 'all') return true
  return chosen === 'usual' ? isUsual : chosen.includes(name)
}
