import { randomBytes } from 'node:crypto'
import { answer, ask, type StatelessClient } from '../../load/flows.ts'
import { median, pairedRatio } from '../../measure/statistics.ts'
import type { Child } from '../../processes/child.ts'
import { LOAD_CORE } from '../../processes/affinity.ts'
import { writeRole } from '../../programs/role.ts'
import { type Bench, type CaseResult, withChild, withChildren } from '../case.ts'
import { fine, spreadText } from '../report.ts'

/** One batch of flows, one after the other. */
interface Batch {
  /** The time of the round with the answer: the median of the batch. */
  answerMs: number
  /** CPU time of both gateways, for a flow. */
  cpuMs: number
}

/** A call waits in one of two gateways; its answer comes there, or to the other one, which forwards it. */
export async function compareForwarding(bench: Bench): Promise<CaseResult> {
  return withChild(bench.startProgram('sessionServer', [], LOAD_CORE), (server) => {
    // Of a server that keeps something, a call may be forwarded to the gateway of its caller, and wait there.
    const servers = { bench: { url: `http://127.0.0.1:${server.port}/mcp`, pannier: { state: 'stateless' } } }
    const keys = randomBytes(32).toString('base64url')
    const starting = [1, 2].map(() => bench.startProgram('gateway', writeRole({ servers, keys })))
    return withChildren(starting, ([owner, other]) => {
      if (owner === undefined || other === undefined) throw new Error('Two gateways are needed.')
      return measure(bench, owner, other)
    })
  })
}

async function measure(bench: Bench, owner: Child, other: Child): Promise<CaseResult> {
  const { batches, answers } = bench.plan.bridge
  const path = '/mcp/bench'
  const atOwner = { port: owner.port, path }
  const forwarded = { port: owner.port, answerPort: other.port, path }
  const numbers = counter()
  const run = (client: StatelessClient): Promise<Batch> => runBatch(client, [owner, other], answers, numbers)
  for (let turn = 0; turn < 2; turn++) for (const client of [atOwner, forwarded]) await run(client) // warm-up
  const here: Batch[] = []
  const there: Batch[] = []
  for (let batch = 0; batch < batches; batch++) {
    here.push(await run(atOwner))
    there.push(await run(forwarded))
  }
  const of = (all: readonly Batch[], pick: (batch: Batch) => number): number[] => all.map(pick)
  const line = (name: string, all: readonly Batch[]): string =>
    `${name}: the answer takes ${fine(median(of(all, ({ answerMs }) => answerMs)))} ms, the flow ${fine(median(of(all, ({ cpuMs }) => cpuMs)))} ms of CPU time in both gateways.`
  const ratio = pairedRatio(
    of(there, ({ answerMs }) => answerMs),
    of(here, ({ answerMs }) => answerMs),
  )
  const lines = [line('Answered at the owner', here), line('Answered at another replica', there)]
  lines.push(`A forwarded answer against one at the owner: ${spreadText(ratio)} times as long.`)
  return { lines, figures: [], wrong: { count: 0 }, raw: { here, there } }
}

/** Fails with the first wrong response. */
async function runBatch(
  client: StatelessClient,
  gateways: readonly Child[],
  flows: number,
  nextId: () => number,
): Promise<Batch> {
  const before = await cpuOf(gateways)
  const times: number[] = []
  for (let flow = 0; flow < flows; flow++) {
    const id = nextId()
    const asked = await ask(client, id)
    const started = performance.now()
    await answer(client, id, asked)
    times.push(performance.now() - started)
  }
  return { answerMs: median(times), cpuMs: ((await cpuOf(gateways)) - before) / flows }
}

async function cpuOf(children: readonly Child[]): Promise<number> {
  const all = await Promise.all(children.map((child) => child.ask<number>('cpu')))
  return all.reduce((sum, ms) => sum + ms, 0)
}

function counter(): () => number {
  let last = 0
  return () => ++last
}
