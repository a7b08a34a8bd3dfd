/**
 * What every task engine must do, as tests over any of them. `harness.ts` says what the test of an engine provides.
 *
 *     engineContract('an engine in SQLite', 'records', newStore)
 */
import { describe } from 'vitest'
import { declareBacklog } from './backlog.ts'
import { declareCrashes } from './crashes.ts'
import { declareEndings } from './endings.ts'
import { declareFairness } from './fairness.ts'
import { declareJournals } from './journals.ts'
import { declareLeases } from './leases.ts'
import { declareLists } from './lists.ts'
import { declareAbandonedRuns } from './abandonedRuns.ts'
import { declareQuestions } from './questions.ts'
import { declareRecords } from './records.ts'
import { type EngineStore, ContractHarness } from './harness.ts'
import { declareWatch } from './watch.ts'

export type { EngineStore }

/** Each part is a test file of its own, because some of them take long. */
const PARTS = {
  records: [declareRecords, declareLists, declareJournals],
  questions: [declareQuestions, declareEndings, declareWatch],
  leases: [declareLeases, declareBacklog, declareFairness],
  losses: [declareAbandonedRuns, declareCrashes],
} as const

export function engineContract(name: string, part: keyof typeof PARTS, newStore: () => Promise<EngineStore>): void {
  describe(`the contract of ${name}`, () => {
    const harness = new ContractHarness(newStore)
    for (const declare of PARTS[part]) declare(harness)
  })
}
