import { answer, ask, type StatelessClient } from '../../load/flows.ts'
import type { Retry } from '../../load/messages.ts'
import { spreadOf } from '../../measure/statistics.ts'
import type { Child } from '../../processes/child.ts'
import { LOAD_CORE } from '../../processes/affinity.ts'
import { writeRole } from '../../programs/role.ts'
import { type Bench, type Case, type CaseResult, withChild } from '../case.ts'
import { whole } from '../report.ts'

/** As many calls as one caller may have waiting; and as many as may wait in one process. */
const OF_CALLER = 100
const CAP = 10_000
const AT_ONCE = 32
const KILOBYTE = 1000
/** A server has far fewer sessions and requests at once, unless its entry says otherwise. */
const ROOM = { maxSessions: 2 * CAP, maxInFlight: 2 * CAP, timeoutSeconds: 3600, startSeconds: 120 }

/** How much memory the calls take that wait for their clients, each with a session of its own at the server. */
export const parked: Case = {
  title: 'calls that wait for their clients',
  programs: ['gateway', 'sessionServer'],
  run: measureParked,
}

function measureParked(bench: Bench): Promise<CaseResult> {
  return withParkingGateway(bench, (gateway) => measure(bench, gateway))
}

/** A gateway with room for all calls, before a server of the session era that asks. */
export function withParkingGateway<T>(bench: Bench, work: (gateway: Child) => Promise<T>): Promise<T> {
  return withChild(bench.startProgram('sessionServer', [], LOAD_CORE), (server) => {
    const url = `http://127.0.0.1:${server.port}/mcp`
    const servers = { bench: { url, pannier: { state: 'stateful', ...ROOM } } }
    const role = writeRole({ servers, namesUsers: true })
    return withChild(bench.startProgram('gateway', role), work)
  })
}

async function measure(bench: Bench, gateway: Child): Promise<CaseResult> {
  const count = bench.plan.bridge.parked
  await answerAll(gateway, await park(gateway, AT_ONCE)) // so that what is loaded once does not count
  const before = await gateway.ask<NodeJS.MemoryUsage>('memory')
  const started = performance.now()
  const asked = await park(gateway, count)
  const seconds = (performance.now() - started) / 1000
  const after = await gateway.ask<NodeJS.MemoryUsage>('memory')
  const beyond = count < CAP ? 'All were answered. The cap was not tried.' : await answerBeyond(gateway, asked)
  if (count < CAP) await answerAll(gateway, asked)
  const rss = (after.rss - before.rss) / count / KILOBYTE
  const heap = (after.heapUsed - before.heapUsed) / count / KILOBYTE
  const outside = (after.external - before.external) / count / KILOBYTE
  const kilobytes = `${rss.toFixed(1)} KB each (heap ${heap.toFixed(1)}, outside of it ${outside.toFixed(1)})`
  return {
    lines: [
      `${whole(count)} calls waited at once in one gateway: ${kilobytes}, parked in ${seconds.toFixed(0)} s. ${beyond}`,
    ],
    figures: [{ label: 'parked: KB for a call', value: spreadOf([rss]), required: 40, wanted: 'atMost' }],
    wrong: { count: 0 },
    raw: { count, before, after, seconds },
  }
}

/** The questions of this number of calls. Fails if one call is refused. */
export async function park(gateway: Child, count: number, asked: Retry[] = []): Promise<Retry[]> {
  const first = asked.length
  await each(count, async (at) => {
    const id = first + at
    asked[id] = await ask(callerOf(gateway, id), id)
  })
  return asked
}

export function answerAll(gateway: Child, asked: readonly Retry[]): Promise<void> {
  return each(asked.length, async (id) => {
    const question = asked[id]
    if (question !== undefined) await answer(callerOf(gateway, id), id, question)
  })
}

/** Another caller, who has none yet, finds room: one of those who have the most loses a call. All others are answered. */
async function answerBeyond(gateway: Child, asked: readonly Retry[]): Promise<string> {
  const id = asked.length
  await answer(callerOf(gateway, id), id, await ask(callerOf(gateway, id), id))
  const lost: string[] = []
  await each(asked.length, async (at) => {
    const question = asked[at]
    if (question === undefined) return
    await answer(callerOf(gateway, at), at, question).catch((error: unknown) => void lost.push(String(error)))
  })
  const [first = 'none'] = lost
  if (lost.length !== 1 || !first.includes('most of them of this caller'))
    throw new Error(`Beyond the cap ${lost.length} calls were lost: ${first}.`)
  return 'One of those who had the most lost a call to the next caller, and all others were answered.'
}

async function each(count: number, work: (id: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

function callerOf({ port }: Child, id: number): StatelessClient {
  return { port, path: '/mcp/bench', user: `user ${Math.floor(id / OF_CALLER)}` }
}
