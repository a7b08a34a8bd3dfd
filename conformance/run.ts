// `npm run conformance`: the official suite against our fixture, at both revisions, and behind a round robin.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startFixtures } from './fixtures.ts'
import { judge, type Result } from './judge.ts'
import { startRoundRobin } from './roundRobin.ts'
import { type Revision, requiredScenarios, runSuite } from './suite.ts'
import { heading, line } from './table.ts'

interface Leg {
  readonly revision: Revision
  readonly instances: number
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
  { ...modern, instances: 2 },
]

async function runLeg(leg: Leg, folder: string): Promise<Result[]> {
  const { revision, instances, extras } = leg
  const required = await requiredScenarios(revision)
  const fixtures = await startFixtures(instances)
  const balancer = instances > 1 ? await startRoundRobin(fixtures.urls) : undefined
  const run = await runSuite(balancer?.url ?? (fixtures.urls[0] as string), revision, folder)
  balancer?.stop()
  fixtures.stop()

  const results = [...required, ...extras].map((scenario) => judge(scenario, run.checks.get(scenario)))
  show(balancer ? `Two instances, ${balancer.served.join(' and ')} requests` : 'One instance', revision, results)
  if (results.some(({ verdict }) => verdict === 'missing')) console.log(`\nThe suite wrote:\n${run.output}`)
  return results
}

function show(title: string, revision: Revision, results: readonly Result[]): void {
  console.log(heading(title))
  for (const result of results) console.log(line(revision, result))
}

const folder = mkdtempSync(join(tmpdir(), 'pannier-conformance-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

const results: Result[] = []
for (const [index, leg] of legs.entries()) results.push(...(await runLeg(leg, join(folder, String(index)))))

const passed = results.filter(({ verdict }) => verdict === 'passed').length
console.log(`\nconformance: ${passed} passed, ${results.length - passed} failed`)
process.exitCode = passed === results.length ? 0 : 1
