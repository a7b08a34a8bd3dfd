/** Subscriptions, tasks and calls in crowds: the time and the memory of one with a tenth of all, and with all. */
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { echoLoad } from '../../load/kinds.ts'
import { ENVELOPE, MCP_PATH, PROTOCOL_VERSION } from '../../load/messages.ts'
import { median } from '../../measure/statistics.ts'
import type { Child } from '../../processes/child.ts'
import { writeRole } from '../../programs/role.ts'
import { type Bench, withChild } from '../case.ts'
import { timedTurn } from '../comparison.ts'
import { answerAll, park, withParkingGateway } from '../bridge/parked.ts'

export interface Growth {
  readonly what: string
  readonly count: number
  /** What the time is of. */
  readonly unit: string
  /** CPU time of the server. */
  readonly microseconds: Grown
  /** RSS after a garbage collection. */
  readonly kilobytes: Grown
}

interface Grown {
  readonly tenth: number
  readonly all: number
}

/** The CPU time of one, in microseconds. */
interface Cost {
  /** How many more there are after a measurement. */
  readonly makes: number
  measure(): Promise<number>
}

const WARM = 64
const KILOBYTE = 1000
const TURNS = 9
const TURN_MS = 200

/** Calls of others, while subscriptions are open. */
export function growSubscriptions(bench: Bench): Promise<Growth> {
  const { subscriptions: count } = bench.plan.growth
  return withChild(bench.startServer('pannier', { transport: 'http' }), async (server) => {
    const sockets: Socket[] = []
    try {
      const one = callCost(server)
      await one.measure()
      const open = async (more: number): Promise<void> => {
        for (let at = 0; at < more; at++) sockets.push(await subscribe(server.port))
      }
      return await grow({ what: 'subscriptions', unit: 'for a call', count }, server, open, one)
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  })
}

/** One more task, while others wait. */
export async function growTasks(bench: Bench): Promise<Growth> {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-bench-growth-'))
  const location = { database: 'SQLite', path: join(folder, 'tasks.db') } as const
  const { tasks: count } = bench.plan.growth
  try {
    return await withChild(
      bench.startProgram('waitingTasks', writeRole({ mode: 'answers', location })),
      async (engine) => {
        await engine.ask('wait', Math.ceil(count / 20))
        const wait = (more: number): Promise<void> => engine.ask('wait', more)
        const one = costOfMore(engine, wait, Math.ceil(count / 20))
        return grow({ what: 'waiting tasks', unit: 'for one more', count }, engine, wait, one)
      },
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** One more call that waits in a gateway for its client. */
export function growCalls(bench: Bench): Promise<Growth> {
  const { calls: count } = bench.plan.growth
  return withParkingGateway(bench, async (gateway) => {
    await answerAll(gateway, await park(gateway, WARM)) // so that what is loaded once does not count
    const asked: Awaited<ReturnType<typeof park>> = []
    const wait = async (more: number): Promise<void> => void (await park(gateway, more, asked))
    const one = costOfMore(gateway, wait, Math.ceil(count / 20))
    const grown = await grow({ what: 'waiting calls', unit: 'for one more', count }, gateway, wait, one)
    await answerAll(gateway, asked)
    return grown
  })
}

/** Measures with a tenth of all, and with all. `more` makes more of them. */
async function grow(
  about: Pick<Growth, 'what' | 'unit' | 'count'>,
  child: Child,
  more: (count: number) => Promise<void>,
  one: Cost,
): Promise<Growth> {
  const tenth = Math.ceil(about.count / 10)
  const before = await rssOf(child)
  await more(tenth - one.makes)
  const timeOfTenth = await one.measure()
  const withTenth = await rssOf(child)
  await more(about.count - tenth - one.makes)
  const timeOfAll = await one.measure()
  const withAll = await rssOf(child)
  return {
    ...about,
    microseconds: { tenth: timeOfTenth, all: timeOfAll },
    kilobytes: {
      tenth: (withTenth - before) / tenth / KILOBYTE,
      all: (withAll - before) / about.count / KILOBYTE,
    },
  }
}

async function rssOf(child: Child): Promise<number> {
  return (await child.ask<NodeJS.MemoryUsage>('memory')).rss
}

function callCost(server: Child): Cost {
  return {
    makes: 0,
    async measure() {
      const session = await echoLoad()(server)
      const costs: number[] = []
      for (let turn = 0; turn < TURNS; turn++) {
        const { serverMs, count } = await timedTurn(server, session, TURN_MS)
        costs.push((serverMs * 1000) / count)
      }
      session.close()
      return median(costs)
    },
  }
}

function costOfMore(child: Child, more: (count: number) => Promise<void>, makes: number): Cost {
  return {
    makes,
    async measure() {
      const before = await child.ask<number>('cpu')
      await more(makes)
      return (((await child.ask<number>('cpu')) - before) * 1000) / makes
    },
  }
}

/** Opens a subscription; resolves when its stream has begun. */
function subscribe(port: number): Promise<Socket> {
  const params = { notifications: { toolsListChanged: true }, _meta: ENVELOPE }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params })
  const headers = [
    `POST ${MCP_PATH} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `MCP-Protocol-Version: ${PROTOCOL_VERSION}`,
    'Mcp-Method: subscriptions/listen',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  const socket = connect({ port, host: '127.0.0.1' })
  socket.write(`${headers.join('\r\n')}\r\n\r\n${body}`)
  return new Promise((resolve, reject) => {
    socket.once('error', reject).once('data', (bytes) => {
      const head = bytes.toString('latin1', 0, 12)
      if (head === 'HTTP/1.1 200') resolve(socket)
      else reject(new Error(`A subscription was refused: ${bytes.toString()}`))
    })
  })
}
