import { join } from 'node:path'
import { clientFolder, installPackages } from '../../../interop/packages.ts'
import { echoLoad } from '../../load/kinds.ts'
import type { Series } from '../../measure/compare.ts'
import type { Figure } from '../../measure/figure.ts'
import { rates, ratios, wrongIn } from '../../measure/series.ts'
import type { Child } from '../../processes/child.ts'
import { LOAD_CORE } from '../../processes/affinity.ts'
import { type GatewayRole, writeRole } from '../../programs/role.ts'
import { type Bench, type Case, type CaseResult, mergeResults, withChild } from '../case.ts'
import { compareProcesses, type Runner } from '../comparison.ts'
import { contentionLines, rateLines, spreadText } from '../report.ts'
import { hasNginx, startNginx } from './nginx.ts'
import { compareWorkers } from './workers.ts'

/** The address of the one server, at which bytes pass, and of all, at which requests are read. */
const ALONE = echoLoad({ path: '/mcp/bench' })
const UNION = echoLoad({ prefix: 'bench_' })
const BACKENDS = 20

type GatewayProgram = 'gateway' | 'dispatchProxy' | 'sdkGateway' | 'mcpProxy'

/** Our gateway against others, before a server over HTTP and before one on standard input and output. */
export const gateway: Case = {
  title: 'tools/call through a gateway, 32 keep-alive connections',
  programs: ['gateway', 'gatewayWorkers', 'echoBackend', 'dispatchProxy', 'sdkGateway', 'mcpProxy', 'pannier'],
  async run(bench) {
    const overHttp = withChild(bench.startProgram('echoBackend', [], LOAD_CORE), async (backend) => {
      const passing = await comparePassing(bench, backend)
      const prices = await comparePrices(bench, backend)
      return [passing, prices, await compareWorkers(bench, backend), await measureMemory(bench, backend)]
    })
    return mergeResults([...(await overHttp), await compareStdio(bench)])
  },
}

function start(bench: Bench, program: GatewayProgram, role: GatewayRole): Promise<Child> {
  return bench.startProgram(program, writeRole(role))
}

/** Against others that pass requests on. */
function comparePassing(bench: Bench, backend: Child): Promise<CaseResult> {
  const url = `http://127.0.0.1:${backend.port}/mcp`
  const { baseline, sdk, pannier } = bench.plan.warmUpMs
  const load = echoLoad()
  const rivals: Runner[] = [
    { name: 'dispatch proxy', start: () => start(bench, 'dispatchProxy', { server: url }), load, warmUpMs: baseline },
    { name: 'SDK gateway', start: () => start(bench, 'sdkGateway', { server: url }), load, warmUpMs: sdk },
    { name: 'pannier', start: () => start(bench, 'gateway', before(backend)), load: ALONE, warmUpMs: pannier },
  ]
  return compareAll(bench, rivals, [backend], (of) => ({
    figures: [
      { label: 'gateway: pannier / dispatch', ...ratios(of('pannier'), of('dispatch proxy')), required: 0.9 },
      { label: 'gateway: pannier / SDK', ...ratios(of('pannier'), of('SDK gateway')), required: 12 },
    ],
    lines: [],
  }))
}

/** What logging and reading requests cost, and nginx for scale. */
function comparePrices(bench: Bench, backend: Child): Promise<CaseResult> {
  const { baseline, pannier: warmUpMs } = bench.plan.warmUpMs
  const role = before(backend)
  const isThere = hasNginx()
  const rivals: Runner[] = [
    { name: 'pannier', start: () => start(bench, 'gateway', role), load: ALONE, warmUpMs },
    { name: 'pannier, logging', start: () => start(bench, 'gateway', { ...role, log: true }), load: ALONE, warmUpMs },
    { name: 'pannier, /mcp', start: () => start(bench, 'gateway', role), load: UNION, warmUpMs },
    ...(isThere
      ? [
          {
            name: 'nginx',
            start: () => startNginx(backend.port, bench.pinned),
            load: echoLoad(),
            warmUpMs: baseline,
          },
        ]
      : []),
  ]
  return compareAll(bench, rivals, [backend], (of) => ({
    figures: [],
    lines: [
      `All servers at /mcp, where requests are read, against one: ${spreadText(ratios(of('pannier, /mcp'), of('pannier')).value)}.`,
      ...(isThere ? [] : ['nginx is not installed, so it was not measured.']),
    ],
  }))
}

/** A gateway before this server. */
function before(backend: Child): GatewayRole {
  return { servers: { bench: { url: `http://127.0.0.1:${backend.port}/mcp`, pannier: { state: 'stateless' } } } }
}

/** The server is the same program for both, on the other core. */
async function compareStdio(bench: Bench): Promise<CaseResult> {
  installPackages(clientFolder('mcp-proxy'))
  const program = join(clientFolder('mcp-proxy'), 'node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs')
  const [command = '', ...args] = bench.serverCommand('pannier', { transport: 'stdio' })
  const servers = { bench: { command, args, pannier: { state: 'stateless' } } }
  const { sdk, pannier } = bench.plan.warmUpMs
  const rivals: Runner[] = [
    {
      name: 'mcp-proxy',
      start: () => start(bench, 'mcpProxy', { program, command: [command, ...args] }),
      load: echoLoad(),
      warmUpMs: sdk,
    },
    { name: 'pannier, stdio', start: () => start(bench, 'gateway', { servers }), load: ALONE, warmUpMs: pannier },
  ]
  return compareAll(bench, rivals, [], (of) => ({
    figures: [{ label: 'gateway: stdio / mcp-proxy', ...ratios(of('pannier, stdio'), of('mcp-proxy')), required: 5 }],
    lines: [],
  }))
}

async function compareAll(
  bench: Bench,
  rivals: readonly Runner[],
  others: readonly Child[],
  settle: (of: (name: string) => Series) => { figures: Figure[]; lines: string[] },
): Promise<CaseResult> {
  const series = await compareProcesses(bench, rivals, others)
  const of = (name: string): Series => {
    const found = series.find((one) => one.name === name)
    if (found === undefined) throw new Error(`Nothing was measured for ${name}.`)
    return found
  }
  const { figures, lines } = settle(of)
  return {
    lines: [...rateLines(series, 'calls/s'), ...lines, ...contentionLines(series)],
    figures,
    wrong: wrongIn(series),
    raw: series.map((one) => ({ ...one, rates: rates(one) })),
  }
}

/** The memory of a gateway with many servers, after calls. */
async function measureMemory(bench: Bench, backend: Child): Promise<CaseResult> {
  const entry = { url: `http://127.0.0.1:${backend.port}/mcp`, pannier: { state: 'stateless' } }
  const used: Record<number, number> = {}
  for (const count of [1, BACKENDS]) {
    const names = Array.from({ length: count }, (_, at) => (at === 0 ? 'bench' : `bench${at}`))
    const servers = Object.fromEntries(names.map((name) => [name, entry]))
    used[count] = await withChild(start(bench, 'gateway', { servers }), async (child) => {
      const session = await ALONE(child)
      await session.run({ count: bench.plan.memory.calls })
      session.close()
      return (await child.ask<NodeJS.MemoryUsage>('memory')).rss
    })
  }
  const text = Object.entries(used).map(([count, rss]) => `${(rss / 1e6).toFixed(1)} MB with ${count}`)
  return {
    lines: [`RSS by the number of servers, after ${bench.plan.memory.calls} calls: ${text.join(', ')}.`],
    figures: [],
    wrong: { count: 0 },
    raw: used,
  }
}
