/**
 * What every task engine must do, as tests over any of them. `contract/stage.ts` says what an engine's test gives.
 *
 *     engineContract('an engine in SQLite', newStore)
 */
import { describe } from 'vitest'
import { declareCrashes } from './crashes.ts'
import { declareEnds } from './endings.ts'
import { declareJournals } from './journals.ts'
import { declareLeases } from './leases.ts'
import { declareLists } from './lists.ts'
import { declareLosses } from './abandonedRuns.ts'
import { declareQuestions } from './questions.ts'
import { declareRecords } from './records.ts'
import { type EngineStore, Stage } from './harness.ts'
import { declareWatching } from './watch.ts'

export type { EngineStore }

export function engineContract(name: string, newStore: () => Promise<EngineStore>): void {
  describe(`the contract of ${name}`, () => {
    const stage = new Stage(newStore)
    declareRecords(stage)
    declareLists(stage)
    declareLeases(stage)
    declareLosses(stage)
    declareJournals(stage)
    declareQuestions(stage)
    declareEnds(stage)
    declareWatching(stage)
    declareCrashes(stage)
  })
}
