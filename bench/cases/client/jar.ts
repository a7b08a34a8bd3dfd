import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compare, type Series } from '../../measure/compare.ts'
import { type Contender, type Sample, sumOf } from '../../measure/contender.ts'
import { rates, ratios, wrongIn } from '../../measure/series.ts'
import type { StoreName } from '../../programs/client/jarStores.ts'
import type { Child } from '../../processes/child.ts'
import { LOAD_CORE, SERVER_CORE } from '../../processes/affinity.ts'
import { type Bench, type Case, type CaseResult, withChildren } from '../case.ts'
import { contentionLines, fine, whole } from '../report.ts'
import { selfLoad } from '../../load/kinds.ts'
import { timedTurn } from '../comparison.ts'

type Operation = 'read' | 'write'

/** A store, and how many processes use it at once. */
interface StoreUse {
  store: StoreName
  processes: 1 | 4
}

const STORE_USES: readonly StoreUse[] = [
  { store: 'memory', processes: 1 },
  { store: 'statements', processes: 1 },
  { store: 'sqlite', processes: 1 },
  { store: 'statements', processes: 4 },
  { store: 'sqlite', processes: 4 },
]

/** These figures are printed; none is required. */
export const jar: Case = {
  title: 'reads and writes of a jar with five names, beside plain prepared statements',
  programs: ['jar'],
  async run(bench) {
    const folder = mkdtempSync(join(tmpdir(), 'pannier-bench-jar-'))
    try {
      const starting = STORE_USES.map((use) => start(bench, use, folder))
      return await withChildren(starting.flat(), async (children) => {
        const groups = groupsOf(children)
        const reads = await run(bench, groups, 'read')
        return together(reads, await run(bench, groups, 'write'))
      })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** The processes that share a file are spread over both cores. */
function start(bench: Bench, { store, processes }: StoreUse, folder: string): Promise<Child>[] {
  const argv = [store, join(folder, `${store}-${processes}.db`)]
  return Array.from({ length: processes }, (_, index) =>
    bench.startProgram('jar', argv, index % 2 === 0 ? SERVER_CORE : LOAD_CORE),
  )
}

function groupsOf(children: readonly Child[]): Child[][] {
  let from = 0
  return STORE_USES.map(({ processes }) => children.slice(from, (from += processes)))
}

async function run(bench: Bench, groups: readonly Child[][], operation: Operation): Promise<CaseResult> {
  const { rounds, warmUpMs } = bench.plan.jar
  const contenders = STORE_USES.map((use, index) => contender(use, groups[index] ?? [], operation, warmUpMs))
  const series = await compare(contenders, rounds, (work) => bench.undisturbed(groups.flat(), work))
  const lines = [...series.map((one) => line(one, series, operation)), ...contentionLines(series)]
  return { lines, figures: [], wrong: wrongIn(series), raw: series }
}

function contender(use: StoreUse, children: Child[], operation: Operation, warmUpMs: number): Contender {
  const load = selfLoad(operation)
  return {
    name: nameOf(use),
    warmUpMs,
    async open() {
      const sessions = await Promise.all(children.map(async (child) => ({ child, session: await load(child) })))
      return {
        run: async (ms) => sumParallel(await Promise.all(sessions.map((one) => timedTurn(one.child, one.session, ms)))),
        close() {},
      }
    },
  }
}

function nameOf({ store, processes }: StoreUse): string {
  return processes === 1 ? store : `${store}, ${processes} processes`
}

/** The sum of what several processes did in the same time. */
function sumParallel(samples: Sample[]): Sample {
  return { ...sumOf(samples), ms: Math.max(...samples.map(({ ms }) => ms)) }
}

function line(one: Series, all: readonly Series[], operation: Operation): string {
  const { median, low, high } = rates(one)
  const rate = `${whole(median).padStart(9)} ${operation}s/s (${whole(low)} … ${whole(high)})`
  const baseline = all.find(({ name }) => name === one.name.replace('sqlite', 'statements'))
  if (baseline === undefined || baseline === one) return `${one.name.padEnd(24)} ${rate}`
  const { value, byCpu } = ratios(one, baseline)
  const share = `${fine(value.median)} of the statements, by CPU time ${fine(byCpu.median)}`
  return `${one.name.padEnd(24)} ${rate.padEnd(46)} ${share}`
}

function together(reads: CaseResult, writes: CaseResult): CaseResult {
  const first = reads.wrong.first ?? writes.wrong.first
  const count = reads.wrong.count + writes.wrong.count
  return {
    lines: [...reads.lines, ...writes.lines],
    figures: [],
    wrong: first === undefined ? { count } : { count, first },
    raw: { reads: reads.raw, writes: writes.raw },
  }
}
