import type { Outcome } from '../../load/load.ts'
import { MCP_PATH } from '../../load/messages.ts'
import { compare, type Series } from '../../measure/compare.ts'
import { cpuRate, rate, type Sample } from '../../measure/contender.ts'
import type { Figure } from '../../measure/figure.ts'
import { ratios, wrongIn } from '../../measure/series.ts'
import { pairedRatio, spreadOf } from '../../measure/statistics.ts'
import { type ClientRole, type ClientSetup, writeRole } from '../../programs/role.ts'
import { type CpuSource, processCpu } from '../../processes/cpuUsage.ts'
import { LOAD_CORE } from '../../processes/affinity.ts'
import { type Bench, type Case, type CaseResult, mergeResults, withChild } from '../case.ts'
import { contentionLines } from '../report.ts'
import type { Load } from '../../load/kinds.ts'
import { contender } from '../comparison.ts'

/** The time that a call may take, as a multiple of the time without layers. */
const REQUIRED = 1.1

/** A client, a transport and an era. */
interface Scenario extends Pick<ClientRole, 'sdk' | 'era'> {
  name: string
  transport: 'http' | 'stdio'
}

const SCENARIOS: readonly Scenario[] = [
  { name: 'v2, HTTP', sdk: 'v2', era: 'stateless', transport: 'http' },
  { name: 'v2, HTTP session', sdk: 'v2', era: 'session', transport: 'http' },
  { name: 'v2, stdio', sdk: 'v2', era: 'stateless', transport: 'stdio' },
  { name: 'v2, stdio session', sdk: 'v2', era: 'session', transport: 'stdio' },
  { name: 'v1, HTTP session', sdk: 'v1', era: 'session', transport: 'http' },
  { name: 'v1, stdio session', sdk: 'v1', era: 'session', transport: 'stdio' },
]

/**
 * Clients of each setup, which take turns. Over stdio each client has its own server process, and two processes of the
 * same program can differ by a quarter; over HTTP two connections can.
 */
const CLIENTS = 5

/** The client is the measured process: it runs on the server's core, and its server on the load generator's. */
export const layers: Case = {
  title: 'one tools/call after the other by an SDK client: bare, with rounds, scope, jar and echo, and by connect()',
  programs: ['pannier', 'layers'],
  async run(bench) {
    const results: CaseResult[] = []
    for (const scenario of SCENARIOS) results.push(settle(scenario, await runScenario(bench, scenario)))
    return mergeResults(results)
  },
}

function runScenario(bench: Bench, scenario: Scenario): Promise<Series[]> {
  if (scenario.transport === 'stdio')
    return compareSetups(bench, scenario, bench.serverCommand('pannier', { transport: 'stdio' }), [])
  return withChild(bench.startServer('pannier', { transport: 'http' }, LOAD_CORE), (server) =>
    compareSetups(bench, scenario, `http://127.0.0.1:${server.port}${MCP_PATH}`, [server]),
  )
}

function compareSetups(
  bench: Bench,
  { sdk, era }: Scenario,
  server: ClientRole['server'],
  hosts: readonly CpuSource[],
): Promise<Series[]> {
  const { rounds, warmUpMs } = bench.plan.clients
  return withChild(bench.startProgram('layers', writeRole({ sdk, era, server })), async (child) => {
    // `connect` makes a client of SDK v2 only.
    const setups: readonly ClientSetup[] = sdk === 'v2' ? ['bare', 'layers', 'connect'] : ['bare', 'layers']
    const measured: CpuSource[] = [child, ...hosts]
    for (const setup of Array.from({ length: CLIENTS }, () => setups).flat()) {
      const pid = await child.ask<number | undefined>('open', setup)
      if (pid !== undefined) measured.push(processCpu(pid))
    }
    const contenders = setups.map((name) =>
      contender({ name, warmUpMs: warmUpMs * CLIENTS, load: setupLoad(name) }, child),
    )
    return compare(contenders, rounds, (work) => bench.undisturbed(measured, work))
  })
}

function setupLoad(setup: ClientSetup): Load {
  return (child) => ({ run: (limit) => child.ask<Outcome>('call', { setup, limit }), close() {} })
}

function settle({ name }: Scenario, series: Series[]): CaseResult {
  const [bare, ...others] = series
  if (bare === undefined) throw new Error('Nothing was measured.')
  const figures = others.map((one): Figure => {
    const value = pairedRatio(one.rounds.map(medianOf), bare.rounds.map(medianOf))
    // The ratio of two rates is the inverse ratio of the times of a call.
    const { value: onAverage, byCpu } = ratios(bare, one)
    return { label: `${one.name}: ${name}`, value, onAverage, byCpu, required: REQUIRED, wanted: 'atMost' }
  })
  const lines = [...series.map((one) => line(name, one)), ...contentionLines(series)]
  return { lines, figures, wrong: wrongIn(series), raw: { name, series } }
}

/** The median time of a call, in milliseconds. */
function medianOf({ medianMs = Number.NaN }: Sample): number {
  return medianMs
}

function line(name: string, series: Series): string {
  const micros = (ms: (sample: Sample) => number): string => {
    const { median, low, high } = spreadOf(series.rounds.map((sample) => ms(sample) * 1000))
    return `${median.toFixed(0).padStart(5)} µs (${low.toFixed(0)} … ${high.toFixed(0)})`.padEnd(22)
  }
  const average = micros((sample) => 1000 / rate(sample))
  const cpu = micros((sample) => 1000 / cpuRate(sample))
  return `${`${name}, ${series.name}`.padEnd(28)} ${micros(medianOf)} a call, ${average} on average, ${cpu} of CPU time`
}
