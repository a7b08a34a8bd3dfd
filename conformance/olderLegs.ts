/**
 * The rest of the suite against our server: everything that it has for the older revisions, and its own selections, also
 * of what no revision requires. For the long form of the tests.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startFixtures } from './fixtures.ts'
import { judgeServer, type Result } from './judge.ts'
import { runServerRevision, runServerSelection, scenariosAt, type SuiteRun } from './suite.ts'

const REVISIONS = ['2025-06-18', '2025-03-26'] as const
const SELECTIONS = ['all', 'pending', 'draft'] as const

/** These check nothing here: one is a stub, and the others are for servers with the skills extension. */
const VACUOUS = /^(?:tasks-status-notifications|sep-2640-.*)$/

export async function runOlderLegs(folder: string, report: (result: Result) => void): Promise<void> {
  const place = join(folder, 'older')
  mkdirSync(place, { recursive: true })
  const fixtures = await startFixtures(1, { PANNIER_TASKS: `sqlite:${join(place, 'tasks.db')}` })
  const [url = ''] = fixtures.urls
  for (const revision of REVISIONS) {
    const run = await runServerRevision(url, revision, join(place, revision))
    for (const scenario of await scenariosAt('server', revision)) {
      report(judgeServer({ who: 'server', revision }, scenario, run))
    }
  }
  for (const selection of SELECTIONS) {
    const run = await runServerSelection(url, selection, join(place, selection))
    for (const result of judgeSelection(selection, run)) report(result)
  }
  fixtures.stop()
}

/** The suite says itself whether a scenario did not come to its end, since nothing else lists a selection. */
function judgeSelection(selection: string, run: SuiteRun): Result[] {
  const subject = { who: selection, revision: '2026-07-28' } as const
  const scenarios = [...run.checks.keys()]
  const judged = scenarios.map((scenario) => judgeServer(subject, scenario, run)).map(withoutVacuous)
  if (run.exitCode === 0 && judged.length > 0) return judged
  const failed = {
    ...subject,
    scenario: 'the whole selection',
    checks: [],
    verdict: 'failed',
    output: run.output,
  } as const
  return [...judged, failed]
}

function withoutVacuous(result: Result): Result {
  return result.verdict === 'vacuous' && VACUOUS.test(result.scenario) ? { ...result, verdict: 'passed' } : result
}
