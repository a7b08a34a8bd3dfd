/**
 * Two workers against one process. Load and server need the cores of this machine as well, so each process that serves has
 * the same small share of a core, which it gets whatever else runs: what is compared is how much more two of them answer than one.
 */
import { compare } from '../../measure/compare.ts'
import { rates, ratios, wrongIn } from '../../measure/series.ts'
import type { Child } from '../../processes/child.ts'
import { limitCpu } from '../../processes/quota.ts'
import { writeRole } from '../../programs/role.ts'
import { echoLoad } from '../../load/kinds.ts'
import { type Bench, type CaseResult, withChildren } from '../case.ts'
import { contender } from '../comparison.ts'
import { contentionLines, rateLines } from '../report.ts'

/** Of a core, for each process that serves. */
const SHARE = 0.2
const COUNTS = [1, 2] as const

export async function compareWorkers(bench: Bench, backend: Child): Promise<CaseResult> {
  const entry = { url: `http://127.0.0.1:${backend.port}/mcp`, pannier: { state: 'stateless' } }
  const starting = COUNTS.map((workers) =>
    bench.startProgram('gatewayWorkers', writeRole({ servers: { bench: entry }, workers })),
  )
  const ends: ReturnType<typeof limitCpu>[] = []
  const result = await withChildren(starting, async (children) => {
    for (const child of children)
      for (const pid of await child.ask<readonly number[]>('pids')) ends.push(limitCpu(pid, SHARE))
    if (ends.includes(undefined)) return unmeasured()
    return measure(bench, children, backend)
  })
  for (const end of ends) await end?.()
  return result
}

async function measure(bench: Bench, children: readonly Child[], backend: Child): Promise<CaseResult> {
  const contenders = children.map((child, index) => {
    const name = COUNTS[index] === 1 ? 'one process' : `${COUNTS[index]} workers`
    // A share of a core is a share of the time to get warm.
    return contender({ name, load: echoLoad({ path: '/mcp/bench' }), warmUpMs: bench.plan.warmUpMs.pannier }, child)
  })
  const { rounds, generations } = bench.plan
  const series = await compare(contenders, { ...rounds, count: rounds.count * generations }, (work) =>
    bench.undisturbed([...children, backend], work),
  )
  const [one, two] = series
  if (one === undefined || two === undefined) throw new Error('Nothing was measured.')
  return {
    lines: [
      `Each process that serves has ${SHARE * 100} % of a core:`,
      ...rateLines(series, 'calls/s'),
      ...contentionLines(series),
    ],
    figures: [{ label: 'gateway: 2 workers / 1', ...ratios(two, one), required: 1.6 }],
    wrong: wrongIn(series),
    raw: series.map((each) => ({ ...each, rates: rates(each) })),
  }
}

function unmeasured(): CaseResult {
  const line = 'Workers were not measured: no control groups of Linux can be made here, which needs the rights of root.'
  return { lines: [line], figures: [], wrong: { count: 0 }, raw: [] }
}
