// `npm run mutants -- --seed 7 --count 100 --folder src/server` changes the sources in small ways, one at a time, and tells
// which changes no test notices. It works in copies of the repository, which it removes however it ends.
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { type Block, blocksOf } from './mutants/blocks.ts'
import { batches, folderOf, isUnitTest, sample, testsFor } from './mutants/choose.ts'
import { Copy, removeCopies } from './mutants/copy.ts'
import { type Equivalent, isEquivalent, staleEquivalents } from './mutants/equivalents.ts'
import equivalents from './mutants/equivalents.json' with { type: 'json' }
import { type Change, changesOf } from './mutants/operators.ts'
import { hashOf, knownReach, type Reach, readReach } from './mutants/reached.ts'
import { describe, type Result, summary } from './mutants/report.ts'
import { isTest, listFiles, readText } from './repository.ts'

interface Source {
  text: string
  hash: string
  blocks: readonly Block[]
  changes: readonly Change[]
}

/** The folders that guard something. */
const FOLDERS = ['src/state', 'src/journal', 'src/server', 'src/tasks', 'src/client', 'src/postgres']
/** A run of tests may take this much longer than when it was measured, and some time to start. */
const SLOWER = 5
const START_MS = 90_000
/** What fails later than this may have waited for a busy machine. */
const SLOW_MS = 10_000

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    count: { type: 'string', default: '60' },
    folder: { type: 'string', multiple: true, default: FOLDERS },
    operator: { type: 'string', multiple: true, default: [] },
    seconds: { type: 'string', default: '60' },
    measured: { type: 'boolean', default: false },
    jobs: { type: 'string', default: String(Math.max(1, Math.floor(availableParallelism() / 2))) },
  },
})

function readSources(): Map<string, Source> {
  const paths = listFiles().filter((path) => /^src\/.*\.ts$/.test(path) && !isTest(path))
  return new Map(
    paths.map((path) => {
      const text = readText(path)
      return [path, { text, hash: hashOf(text), blocks: blocksOf(path, text), changes: changesOf(path, text) }]
    }),
  )
}

/** Makes the change in the copy, runs the tests that reach it until one fails, and undoes it. */
async function tryChange(change: Change, source: Source, reach: Reach, copy: Copy): Promise<Result> {
  const { text } = source
  if (isEquivalent(change, text, equivalents)) return { change, outcome: 'equivalent' }
  const set = (isChanged: boolean): void =>
    copy.write(change.path, isChanged ? text.slice(0, change.start) + change.after + text.slice(change.end) : text)
  set(true)
  try {
    const { runs, leftOut } = batches(testsFor(change, source, reach), reach, Number(values.seconds))
    for (const [n, files] of runs.entries()) {
      // The nearest tests are quicker than the compiler, and the compiler is quicker than all the others.
      if (n === 1 && !copy.compiles(change.path)) return { change, outcome: 'does not compile' }
      const by = await noticedBy(files, reach, copy, set)
      if (by !== undefined) return { change, outcome: 'noticed', by }
    }
    if (runs.length < 2 && !copy.compiles(change.path)) return { change, outcome: 'does not compile' }
    return { change, outcome: 'survived', tests: runs.flat().length, leftOut }
  } finally {
    set(false)
  }
}

/**
 * The test that fails. One with processes, and one that took long, counts when it fails twice, because a busy machine can
 * make it fail, too; one that failed when it was measured, when it passes without the change.
 */
async function noticedBy(
  files: readonly string[],
  reach: Reach,
  copy: Copy,
  set: (isChanged: boolean) => void,
): Promise<string | undefined> {
  const limitMs = START_MS + SLOWER * files.reduce((sum, path) => sum + (reach[path]?.ms ?? 0), 0)
  const begun = performance.now()
  const first = await copy.test(files, { limitMs })
  if (!first.failed) return undefined
  const isCertain = files.every(isUnitTest) && performance.now() - begun < SLOW_MS
  if (!isCertain && !(await copy.test(files, { limitMs })).failed) return undefined
  if (files.every((path) => reach[path]?.passed)) return first.by
  set(false)
  const unchanged = await copy.test(files, { limitMs })
  set(true)
  return unchanged.failed ? undefined : first.by
}

async function main(): Promise<void> {
  const sources = readSources()
  const stale = staleEquivalents(equivalents satisfies Equivalent[], (path) => sources.get(path))
  if (stale.length > 0) throw new Error(`scripts/mutants/equivalents.json:\n${stale.join('\n')}`)
  const wanted = [...sources.values()].flatMap((source) => source.changes).filter(isWanted)
  console.log(
    `Seed ${values.seed}: ${values.count} of ${wanted.length} changes in ${[...new Set(wanted.map(({ path }) => folderOf(path)))].join(', ')}.`,
  )
  const reach = values.measured ? knownReach() : await readReach(console.log)
  const queue = sample(wanted, Number(values.seed))
  const results: Result[] = []
  const work = async (): Promise<void> => {
    const copy = new Copy()
    while (results.filter(counts).length < Number(values.count)) {
      const { value: change } = queue.next()
      const source = change && sources.get(change.path)
      if (!change || !source) break
      const begun = performance.now()
      const result = await tryChange(change, source, reach, copy)
      results.push(result)
      const seconds = ((performance.now() - begun) / 1000).toFixed(0).padStart(3)
      if (counts(result)) console.log(`${seconds} s  ${describe(result)}`)
    }
    copy.remove()
  }
  await Promise.all(Array.from({ length: Number(values.jobs) }, work))
  console.log(`\n${summary(results)}`)
  process.exitCode = results.some(({ outcome }) => outcome === 'survived') ? 1 : 0
}

function isWanted({ path, operator }: Change): boolean {
  const { folder: folders, operator: operators } = values
  return (
    folders.some((folder) => path.startsWith(`${folder}/`)) && (operators.length === 0 || operators.includes(operator))
  )
}

function counts({ outcome }: Result): boolean {
  return outcome === 'noticed' || outcome === 'survived'
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))
process.once('exit', removeCopies)
await main()
