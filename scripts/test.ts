// `npm test` runs every stage; `npm test -- unit types` runs only those; `npm run test:long` runs the long forms of tests
// that prove by mass. The last line is `N passed, N failed`.
import bundlePrograms from '../test/bundle/build.ts'
import './compileCache.ts'
import { stopAll } from './stages/command.ts'
import { type Outcome, type Stage, stages } from './stages/stages.ts'

const concurrentStages = 3
const slowestShown = 10

function chooseStages(names: readonly string[]): Stage[] {
  const unknown = names.filter((name) => !stages.some((stage) => stage.name === name))
  if (unknown.length > 0) {
    console.error(
      `There is no stage ${unknown.join(', ')}. The stages are ${stages.map(({ name }) => name).join(', ')}.`,
    )
    process.exit(1)
  }
  return stages.filter(({ name, onlyNamed = false }) => (names.length === 0 ? !onlyNamed : names.includes(name)))
}

async function runAll(chosen: readonly Stage[]): Promise<Outcome[]> {
  const queue = [...chosen]
  const outcomes: Outcome[] = []
  const work = async (): Promise<void> => {
    for (let stage = queue.shift(); stage; stage = queue.shift()) {
      const startedAt = performance.now()
      const outcome = await stage.run()
      report(stage, outcome, performance.now() - startedAt)
      outcomes.push(outcome)
    }
  }
  await Promise.all(Array.from({ length: concurrentStages }, work))
  return outcomes
}

function report({ name }: Stage, { passed, failed, output }: Outcome, ms: number): void {
  const counts = failed === 0 ? `${passed} passed` : `${passed} passed, ${failed} failed`
  console.log(
    `${failed === 0 ? 'ok  ' : 'FAIL'}  ${name.padEnd(12)} ${`${(ms / 1000).toFixed(1)} s`.padStart(8)}   ${counts}`,
  )
  if (failed > 0) console.log(output.trimEnd().replace(/^/gm, '      '))
}

function reportSlowest(outcomes: readonly Outcome[]): void {
  const tests = outcomes.flatMap(({ tests = [] }) => tests)
  if (tests.length === 0) return
  console.log(`\nThe slowest of ${tests.length} tests:`)
  for (const { name, ms } of tests.toSorted((a, b) => b.ms - a.ms).slice(0, slowestShown)) {
    console.log(`${(ms / 1000).toFixed(1).padStart(6)} s  ${name}`)
  }
  console.log()
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stopAll()
    process.exit(1)
  })
}

const chosen = chooseStages(process.argv.slice(2))
if (chosen.some(({ startsPrograms }) => startsPrograms)) await bundlePrograms()
const outcomes = await runAll(chosen)
reportSlowest(outcomes)
const total = (key: 'passed' | 'failed'): number => outcomes.reduce((sum, outcome) => sum + outcome[key], 0)
console.log(`${total('passed')} passed, ${total('failed')} failed`)
process.exitCode = total('failed') === 0 ? 0 : 1
