/** All cells once, and then kills, one after the other over all cells, until there are enough or the time is over. */
import { type Cell, nameOf, POSSIBLE_CELLS } from './cells.ts'
import { Fleet } from './fleet/fleet.ts'
import type { GatewayCommand } from './fleet/gateways.ts'
import type { ServerName } from './fleet/servers.ts'
import { planKills, type PlannedKill, type Slice, sliceOf } from './plan.ts'
import { remainsOf } from './remains.ts'
import { runScenario } from './scenario.ts'
import { emptyTally, noteKill, noteRun, type Tally } from './tally.ts'

export interface MatrixOptions {
  readonly cells?: readonly Cell[]
  readonly kills: number
  readonly minutes: number
  /** A part of the whole. @default all of it */
  readonly slice?: Slice
  /** Whether what gateways hold at the end is compared with what they held at the start. @default true */
  readonly looksBack?: boolean
  readonly command?: GatewayCommand
  readonly onProgress?: (line: string) => void
}

/** Of the time for kills. A gateway takes longer to start than a server. */
const GATEWAYS_SHARE = 0.6
/** Where no run was there to count them. */
const MESSAGES = 20

/** Each server has gateways of its own, and all work at once. */
export async function runMatrix(options: MatrixOptions): Promise<Tally> {
  const { cells = POSSIBLE_CELLS, kills, minutes, slice = { part: 1, of: 1 } } = options
  const began = performance.now()
  const tally = emptyTally(options.onProgress)
  const planned = sliceOf(planKills(cells, kills), slice)
  const alone = sliceOf(cells, slice)
  const servers = new Set([...alone, ...planned.map(({ cell }) => cell)].map(({ server }) => server))
  const until = began + minutes * 60_000
  const work = [...servers].map((server) => ({
    server,
    alone: alone.filter((cell) => cell.server === server),
    planned: planned.filter(({ cell }) => cell.server === server),
    until,
  }))
  await Promise.all(work.map((each) => runServer(each, tally, options)))
  tally.seconds = Math.round((performance.now() - began) / 1000)
  return tally
}

interface ServerWork {
  readonly server: ServerName
  readonly alone: readonly Cell[]
  readonly planned: readonly PlannedKill[]
  readonly until: number
}

async function runServer(work: ServerWork, tally: Tally, options: MatrixOptions): Promise<void> {
  const { server, alone, planned, until } = work
  const { command, looksBack = true } = options
  const fleet = await Fleet.start(server, command)
  const messages = new Map<string, number>()
  const killAll = async (kills: readonly PlannedKill[], by = until): Promise<void> => {
    for (const { cell, victim, at } of kills) {
      if (performance.now() > by) return
      const position = 1 + Math.floor(at * (messages.get(nameOf(cell)) ?? MESSAGES))
      noteKill(tally, cell, victim, await runScenario(fleet, cell, { victim, at: position }))
      await fleet.mended()
    }
  }
  try {
    const fresh = looksBack ? await fleet.vitals() : []
    for (const cell of alone) {
      const result = await runScenario(fleet, cell)
      messages.set(nameOf(cell), result.messages)
      noteRun(tally, cell, result)
    }
    const isOfGateway = ({ victim }: PlannedKill): boolean => victim === 'holder' || victim === 'other'
    // Where the time is short, all kinds of victims have a share of it.
    const now = performance.now()
    await killAll(planned.filter(isOfGateway), now + (until - now) * GATEWAYS_SHARE)
    const rest = planned.filter((kill) => !isOfGateway(kill))
    // From here on the gateways live, and must be at the end what they were.
    await killAll(rest.slice(0, Math.ceil(rest.length / 4)))
    if (looksBack) await remainsOf(fleet, fresh, tally, () => killAll(rest.slice(Math.ceil(rest.length / 4))))
    else await killAll(rest.slice(Math.ceil(rest.length / 4)))
    tally.orphans += await fleet.orphans()
  } finally {
    await fleet.stop()
  }
}
