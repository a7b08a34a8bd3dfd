/** Makes the checks that apply, in their order, as far as the requests go. */
import type { Allowance } from '../budget.ts'
import type { CheckName, Evidence } from '../report/evidence.ts'
import { strayOutput, unrelatedRequests } from './sideEffects.ts'
import { bareCall, bareLists } from './bare.ts'
import type { Check, Scene } from './check.ts'
import { afterDelete, inventedSession, secondConnection, sessionIssued, sessionRequired } from './sessions.ts'
import { eraCheck, olderEra } from './eras.ts'
import { getStream, resume } from './streams.ts'
import { handles, tasks } from './stored.ts'
import { addresses, replica } from './replica.ts'
import { requestState } from './requestState.ts'

/** What needs a live session comes before its end. */
const IN_ORDER: readonly Check[] = [
  eraCheck,
  sessionIssued,
  sessionRequired,
  secondConnection,
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

/** Which checks: those that are usual, all, or these; those that send nothing are made in any case. */
export type Chosen = 'usual' | 'all' | readonly CheckName[]

export interface Checked {
  readonly evidence: readonly Evidence[]
  /** The checks for which there were no requests left. */
  readonly notAsked: readonly CheckName[]
}

export async function runChecks(scene: Scene, chosen: Chosen, allowance: Allowance): Promise<Checked> {
  const evidence: Evidence[] = []
  const notAsked = new Set<CheckName>()
  for (const check of IN_ORDER) {
    const cost = check.cost(scene)
    if (cost === undefined || !(cost === 0 || isChosen(check, chosen))) continue
    if (cost > allowance.left) notAsked.add(check.name)
    else evidence.push(...(await check.run(scene)))
  }
  return { evidence, notAsked: [...notAsked] }
}

function isChosen({ name, isUsual }: Check, chosen: Chosen): boolean {
  if (chosen === 'all') return true
  return chosen === 'usual' ? isUsual : chosen.includes(name)
}
