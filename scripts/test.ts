// `npm test` runs every stage; `npm test -- unit lint` runs only those; `npm run test:long` runs the long forms of tests
// that prove by mass. The last line is `N passed, N failed`.
import bundlePrograms from '../test/bundle/build.ts'
import './compileCache.ts'
import { stopAll } from './stages/command.ts'
import { type Outcome, type Stage, stages } from './stages/stages.ts'
import { lastLines, retriedLines, slowestLines, stageLines } from './stages/summary.ts'

const concurrentStages = 3

interface FinishedStage {
  stage: Stage
  outcome: Outcome
}

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

async function runAll(chosen: readonly Stage[]): Promise<FinishedStage[]> {
  const queue = [...chosen]
  const finished: FinishedStage[] = []
  const work = async (): Promise<void> => {
    for (let stage = queue.shift(); stage; stage = queue.shift()) {
      const startedAt = performance.now()
      const outcome = await stage.run()
      print(stageLines(stage, outcome, performance.now() - startedAt))
      finished.push({ stage, outcome })
    }
  }
  await Promise.all(Array.from({ length: concurrentStages }, work))
  return finished
}

function print(lines: readonly string[]): void {
  for (const line of lines) console.log(line)
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stopAll()
    process.exit(1)
  })
}

const chosen = chooseStages(process.argv.slice(2))
if (chosen.some(({ startsPrograms }) => startsPrograms)) await bundlePrograms()
const finished = await runAll(chosen)
const tests = finished.flatMap(({ outcome }) => outcome.tests ?? [])
print(slowestLines(tests))
print(retriedLines(tests))
const passed = finished.reduce((sum, { outcome }) => sum + outcome.passed, 0)
const failed = finished.flatMap(({ stage, outcome }) => outcome.failures.map((failure) => ({ stage, failure })))
print(lastLines(passed, failed))
process.exitCode = failed.length === 0 ? 0 : 1
