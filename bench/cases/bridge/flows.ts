import { sessionFlows, statelessFlows } from '../../load/flows.ts'
import type { Load } from '../../load/kinds.ts'
import { MCP_PATH } from '../../load/messages.ts'
import { compare } from '../../measure/compare.ts'
import { ratios, wrongIn } from '../../measure/series.ts'
import type { Child } from '../../processes/child.ts'
import { LOAD_CORE } from '../../processes/affinity.ts'
import { writeRole } from '../../programs/role.ts'
import { type Bench, type CaseResult, withChildren } from '../case.ts'
import { contender } from '../comparison.ts'
import { contentionLines, fine, rateLines, spreadText } from '../report.ts'

const PASSED = '/mcp/bench'

const stateless =
  (path: string): Load =>
  ({ port }) =>
    statelessFlows({ port, path })

const session =
  (path: string): Load =>
  ({ port }) =>
    sessionFlows(port, path)

/** Each client at a server of its own era, and through a gateway at one of the other. Servers behind are on the other core. */
export async function compareFlows(bench: Bench): Promise<CaseResult> {
  const behind = [
    bench.startServer('pannier', { transport: 'http', tool: 'confirm' }, LOAD_CORE),
    bench.startProgram('sessionServer', [], LOAD_CORE),
  ]
  return withChildren(behind, ([modern, legacy]) => {
    const direct = [
      { name: 'stateless, direct', starting: bench.startServer('pannier', { transport: 'http', tool: 'confirm' }) },
      { name: 'session, direct', starting: bench.startProgram('sessionServer') },
    ]
    const bridged = [
      { name: 'stateless → session', starting: startGateway(bench, legacy, 'stateful') },
      { name: 'session → stateless', starting: startGateway(bench, modern, 'stateless') },
    ]
    const loads = [stateless(MCP_PATH), session(MCP_PATH), stateless(PASSED), session(PASSED)]
    const all = [...direct, ...bridged]
    return withChildren(
      all.map(({ starting }) => starting),
      (children) => measure(bench, { all, loads, children, behind: [modern, legacy] }),
    )
  })
}

interface Measured {
  all: readonly { name: string }[]
  loads: readonly Load[]
  children: readonly Child[]
  behind: readonly (Child | undefined)[]
}

async function measure(bench: Bench, { all, loads, children, behind }: Measured): Promise<CaseResult> {
  const { rounds, warmUpMs } = bench.plan.bridge
  const contenders = all.map(({ name }, index) =>
    contender({ name, warmUpMs, load: loads[index] ?? stateless(MCP_PATH) }, children[index]),
  )
  const processes = [...children, ...behind.filter((child) => child !== undefined)]
  const series = await compare(contenders, rounds, (work) => bench.undisturbed(processes, work))
  const [statelessDirect, sessionDirect, toSession, toStateless] = series
  if (!statelessDirect || !sessionDirect || !toSession || !toStateless) throw new Error('Not all flows were measured.')
  const against = (name: string, { value, byCpu }: ReturnType<typeof ratios>): string =>
    `${name}: ${spreadText(value)}; by CPU time of the first process ${fine(byCpu.median)}.`
  return {
    lines: [
      ...rateLines(series, 'flows/s'),
      against(
        'A stateless client at a session server, against one at a stateless server',
        ratios(toSession, statelessDirect),
      ),
      against(
        'A session client at a stateless server, against one at a session server',
        ratios(toStateless, sessionDirect),
      ),
      ...contentionLines(series),
    ],
    figures: [],
    wrong: wrongIn(series),
    raw: series,
  }
}

function startGateway(bench: Bench, server: Child | undefined, state: string): Promise<Child> {
  const url = `http://127.0.0.1:${server?.port}/mcp`
  return bench.startProgram('gateway', writeRole({ servers: { bench: { url, pannier: { state } } } }))
}
