/** The suite against our server fixture: at both revisions, alone and behind a round robin. */
import { join } from 'node:path'
import { isLong } from '../test/amount.ts'
import { startFixtures } from './fixtures.ts'
import { judgeServer, type Result } from './judge.ts'
import { startRoundRobin } from './roundRobin.ts'
import { type RequiredRevision, requiredScenarios, runServerSuite } from './suite.ts'

interface Leg {
  readonly revision: RequiredRevision
  readonly instances: number
  /** Whether its instances have a bus; without one they find each other by their addresses. @default 'shared' */
  readonly bus?: 'none'
  /** Scenarios that the suite runs at this revision without scoring them, and that we require. */
  readonly extras: readonly string[]
}

const modern = {
  revision: '2026-07-28',
  extras: ['http-header-validation', 'http-custom-header-server-validation', 'json-schema-2020-12'],
} as const
const legacy = {
  revision: '2025-11-25',
  extras: ['server-session-lifecycle', 'server-sse-polling', 'json-schema-2020-12'],
} as const

// One after the other: some checks give the server half a second, which should not be spent on waiting for a core.
const legs: readonly Leg[] = [
  { ...modern, instances: 1 },
  { ...legacy, instances: 1 },
]

/** More of the same, for the long form of the tests. */
const longLegs: readonly Leg[] = [
  { ...modern, instances: 2 },
  { ...legacy, instances: 2, bus: 'none' },
]

export async function runServerLegs(folder: string, report: (result: Result) => void): Promise<void> {
  for (const [index, leg] of [...legs, ...(isLong ? longLegs : [])].entries()) {
    for (const result of await runLeg(leg, join(folder, `server-${index}`))) report(result)
  }
}

async function runLeg({ revision, instances, extras, bus }: Leg, folder: string): Promise<Result[]> {
  const required = await requiredScenarios('server', revision)
  const fixtures = await startFixtures(instances, bus && { PANNIER_CONFORMANCE_BUS: bus })
  const balancer = instances > 1 ? await startRoundRobin(fixtures.urls) : undefined
  const run = await runServerSuite(balancer?.url ?? (fixtures.urls[0] as string), revision, folder)
  balancer?.stop()
  fixtures.stop()
  assertShared(balancer?.served ?? [])
  const who = instances > 1 ? `server × ${instances}` : 'server'
  return [...required, ...extras].map((scenario) => judgeServer({ who, revision }, scenario, run))
}

/** A round robin that served from one instance alone would prove nothing. */
function assertShared(served: readonly number[]): void {
  if (served.includes(0)) throw new Error('An instance behind the round robin was never asked.')
}
