/**
 * What every task engine must do, as tests over any of them. `contract/stage.ts` says what an engine's test gives.
 *
 *     engineContract('an engine in SQLite', newStore)
 */
import { describe } from 'vitest'
import { declareCrashes } from './contract/crashes.ts'
import { declareEnds } from './contract/ends.ts'
import { declareJournals } from './contract/journals.ts'
import { declareLeases } from './contract/leases.ts'
import { declareLists } from './contract/lists.ts'
import { declareLosses } from './contract/losses.ts'
import { declareQuestions } from './contract/questions.ts'
import { declareRecords } from './contract/records.ts'
import { type EngineStore, Stage } from './contract/stage.ts'
import { declareWatching } from './contract/watching.ts'

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
