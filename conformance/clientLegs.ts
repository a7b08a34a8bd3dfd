/** The suite against our client: each scenario alone, so that exit codes and time-outs count. */
import { join } from 'node:path'
import { isLong } from '../test/amount.ts'
import { judgeClient, type Result } from './judge.ts'
import { type RequiredRevision, requiredScenarios, runClientScenario } from './suite.ts'

interface Run {
  readonly revision: RequiredRevision
  readonly scenario: string
}

/** The short form of the tests runs the first. */
const REVISIONS: readonly RequiredRevision[] = ['2026-07-28', '2025-11-25']

/** Not scored by the suite, and required by us. */
const extras: Readonly<Record<RequiredRevision, readonly string[]>> = {
  '2026-07-28': [
    'json-schema-2020-12-preservation',
    'auth/client-credentials-jwt',
    'auth/client-credentials-basic',
    'auth/enterprise-managed-authorization',
    'auth/dpop',
    'auth/dpop-nonce',
    'auth/wif-jwt-bearer',
  ],
  '2025-11-25': ['json-schema-2020-12-preservation'],
}

/** Checks that measure time run before the others, and alone. */
const TIMED: ReadonlySet<string> = new Set(['sse-retry'])

/** Each run is two processes that wait for each other, so a core does for one of them. */
const RUNS_AT_ONCE = 3

export async function runClientLegs(folder: string, report: (result: Result) => void): Promise<void> {
  const runs = (await Promise.all((isLong ? REVISIONS : REVISIONS.slice(0, 1)).map(runsAt))).flat()
  const one = async ({ revision, scenario }: Run): Promise<void> => {
    const run = await runClientScenario(scenario, revision, join(folder, `client-${revision}`, scenario))
    report(judgeClient({ who: 'client', revision }, scenario, run))
  }
  for (const run of runs.filter(({ scenario }) => TIMED.has(scenario))) await one(run)
  const queue = runs.filter(({ scenario }) => !TIMED.has(scenario))
  const work = async (): Promise<void> => {
    for (let run = queue.shift(); run; run = queue.shift()) await one(run)
  }
  await Promise.all(Array.from({ length: RUNS_AT_ONCE }, work))
}

async function runsAt(revision: RequiredRevision): Promise<Run[]> {
  const required = await requiredScenarios('client', revision)
  return [...required, ...extras[revision]].map((scenario) => ({ revision, scenario }))
}
