import type { Outcome } from '../../load/load.ts'
import { MCP_PATH } from '../../load/messages.ts'
import { compare, type Series } from '../../measure/compare.ts'
import { cpuRate, rate, type Sample } from '../../measure/contender.ts'
import type { Figure } from '../../measure/figure.ts'
import { ratios, wrongIn } from '../../measure/series.ts'
import { pairedRatio, spreadOf } from '../../measure/statistics.ts'
import { type ClientRole, type Outfit, writeClientRole } from '../../programs/client/role.ts'
import { grandchild } from '../../processes/grandchild.ts'
import { LOAD_CORE } from '../../processes/affinity.ts'
import type { Used } from '../../processes/cpuUsage.ts'
import { type Bench, type Case, type CaseResult, withChild } from '../case.ts'
import { contentionLines } from '../report.ts'
import type { Load } from '../../load/kinds.ts'
import { contender } from '../comparison.ts'
import { together } from '../mergeResults.ts'

/** What a call may take, where it takes 1 without any layer. */
const ASKED = 1.1

/** A client, a transport and an era. */
interface Way extends Pick<ClientRole, 'sdk' | 'era'> {
  name: string
  door: 'http' | 'stdio'
}

const WAYS: readonly Way[] = [
  { name: 'v2, HTTP', sdk: 'v2', era: 'stateless', door: 'http' },
  { name: 'v2, HTTP session', sdk: 'v2', era: 'session', door: 'http' },
  { name: 'v2, stdio', sdk: 'v2', era: 'stateless', door: 'stdio' },
  { name: 'v2, stdio session', sdk: 'v2', era: 'session', door: 'stdio' },
  { name: 'v1, HTTP session', sdk: 'v1', era: 'session', door: 'http' },
  { name: 'v1, stdio session', sdk: 'v1', era: 'session', door: 'stdio' },
]

/**
 * Of each outfit, taking turns: over stdio each has a server of its own, and two processes of the same program can
 * differ by a quarter; over HTTP so can two connections.
 */
const CLIENTS = 5

/** The measured process is the client: it has the server's core, and its server has that of the generator. */
export const layers: Case = {
  title: 'one tools/call after the other by an SDK client: bare, with rounds, scope, jar and echo, and by connect()',
  programs: ['pannier', 'layers'],
  async run(bench) {
    const results: CaseResult[] = []
    for (const way of WAYS) results.push(settle(way, await runWay(bench, way)))
    return together(results)
  },
}

function runWay(bench: Bench, way: Way): Promise<Series[]> {
  if (way.door === 'stdio') return compareOutfits(bench, way, bench.serverCommand('pannier', { door: 'stdio' }), [])
  return withChild(bench.startServer('pannier', { door: 'http' }, LOAD_CORE), (server) =>
    compareOutfits(bench, way, `http://127.0.0.1:${server.port}${MCP_PATH}`, [server]),
  )
}

function compareOutfits(
  bench: Bench,
  { sdk, era }: Way,
  server: ClientRole['server'],
  hosts: readonly Used[],
): Promise<Series[]> {
  const { rounds, warmUpMs } = bench.plan.clients
  return withChild(bench.startProgram('layers', writeClientRole({ sdk, era, server })), async (child) => {
    // Only SDK v2 has a ready-made client.
    const outfits: readonly Outfit[] = sdk === 'v2' ? ['bare', 'layers', 'connect'] : ['bare', 'layers']
    const watched: Used[] = [child, ...hosts]
    for (const outfit of Array.from({ length: CLIENTS }, () => outfits).flat()) {
      const pid = await child.ask<number | undefined>('open', outfit)
      if (pid !== undefined) watched.push(grandchild(pid))
    }
    const contenders = outfits.map((name) =>
      contender({ name, warmUpMs: warmUpMs * CLIENTS, load: outfitLoad(name) }, child),
    )
    return compare(contenders, rounds, (work) => bench.undisturbed(watched, work))
  })
}

function outfitLoad(outfit: Outfit): Load {
  return (child) => ({ run: (limit) => child.ask<Outcome>('call', { outfit, limit }), close() {} })
}

function settle({ name }: Way, series: Series[]): CaseResult {
  const [bare, ...dressed] = series
  if (bare === undefined) throw new Error('Nothing was measured.')
  const figures = dressed.map((one): Figure => {
    const value = pairedRatio(one.rounds.map(middle), bare.rounds.map(middle))
    // Rates of the bare one to those of another are times of the other to those of the bare one.
    const { value: onAverage, byCpu } = ratios(bare, one)
    return { label: `${one.name}: ${name}`, value, onAverage, byCpu, asked: ASKED, wanted: 'atMost' }
  })
  const lines = [...series.map((one) => line(name, one)), ...contentionLines(series)]
  return { lines, figures, wrong: wrongIn(series), raw: { name, series } }
}

/** The time of the middle call, in milliseconds. */
function middle({ middleMs = Number.NaN }: Sample): number {
  return middleMs
}

function line(name: string, series: Series): string {
  const micros = (ms: (sample: Sample) => number): string => {
    const { median, low, high } = spreadOf(series.rounds.map((sample) => ms(sample) * 1000))
    return `${median.toFixed(0).padStart(5)} µs (${low.toFixed(0)} … ${high.toFixed(0)})`.padEnd(22)
  }
  const average = micros((sample) => 1000 / rate(sample))
  const cpu = micros((sample) => 1000 / cpuRate(sample))
  return `${`${name}, ${series.name}`.padEnd(28)} ${micros(middle)} a call, ${average} on average, ${cpu} of CPU time`
}
