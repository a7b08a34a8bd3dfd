/** All cells once, and then kills, one after the other over all cells, until there are enough or the time is over. */
import { BEHAVIOURS } from './behaviours.ts'
import { type Cell, nameOf, POSSIBLE_CELLS } from './cells.ts'
import { Fleet } from './fleet/fleet.ts'
import type { GatewayCommand } from './fleet/gateways.ts'
import type { ServerName } from './fleet/servers.ts'
import { planKills, type PlannedKill, type Slice, sliceOf } from './plan.ts'
import { remainsOf } from './remains.ts'
import { runScenario, type ScenarioResult, type Victim } from './scenario.ts'
import { emptyTally, noteKill, noteRun, type Tally, violate } from './tally.ts'
import { repeatsOf } from './verdict.ts'

export interface MatrixOptions {
  readonly cells?: readonly Cell[]
  readonly kills: number
  readonly minutes: number
  /** A part of the whole. @default all of it */
  readonly slice?: Slice
  /** Whether what gateways hold at the end is compared with what they held at the start. @default true */
  readonly looksBack?: boolean
  readonly command?: GatewayCommand
  /** So many cells of a server have gateways of their own. @default 35 */
  readonly cellsPerFleet?: number
  /** Whom to kill. @default all of them */
  readonly victims?: readonly Victim[]
  /** Whether the messages before and after a violation are told. @default false */
  readonly tellsMessages?: boolean
  readonly onProgress?: (line: string) => void
}

/** Of the time for kills. A gateway takes longer to start than a server. */
const GATEWAYS_SHARE = 0.6
/** Where no run was there to count them. */
const MESSAGES = 20

/** Fleets work at once, each before one server, and those before the same server share what is to be done. */
export async function runMatrix(options: MatrixOptions): Promise<Tally> {
  const { cells = POSSIBLE_CELLS, kills, minutes, slice = { part: 1, of: 1 }, cellsPerFleet = 35 } = options
  const began = performance.now()
  const tally = emptyTally(options.onProgress)
  const planned = sliceOf(planKills(cells, kills, options.victims), slice)
  const alone = sliceOf(cells, slice)
  const servers = new Set([...alone, ...planned.map(({ cell }) => cell)].map(({ server }) => server))
  const until = began + minutes * 60_000
  const fleets = [...servers].flatMap((server) => {
    const work = new ServerWork(server, alone, planned)
    const ofServer = cells.filter((cell) => cell.server === server)
    const count = Math.max(1, Math.round(ofServer.length / cellsPerFleet))
    return Array.from({ length: count }, () => runFleet(work, until, tally, options))
  })
  await Promise.all(fleets)
  tally.seconds = Math.round((performance.now() - began) / 1000)
  return tally
}

/** What is still to be done before one server. */
class ServerWork {
  readonly server: ServerName
  readonly alone: Cell[]
  /** Kills of gateways come first. In the end gateways live, and must be what they were. */
  readonly ofGateways: PlannedKill[]
  readonly warmUp: PlannedKill[]
  readonly rest: PlannedKill[]
  /** By cell, how many messages there were when nothing was killed. */
  readonly messages = new Map<string, number>()

  constructor(server: ServerName, cells: readonly Cell[], planned: readonly PlannedKill[]) {
    this.server = server
    this.alone = cells.filter((cell) => cell.server === server)
    const kills = planned.filter(({ cell }) => cell.server === server)
    const isOfGateway = ({ victim }: PlannedKill): boolean => victim === 'holder' || victim === 'other'
    this.ofGateways = kills.filter(isOfGateway)
    this.rest = kills.filter((kill) => !isOfGateway(kill))
    this.warmUp = this.rest.splice(0, Math.ceil(this.rest.length / 4))
  }
}

async function runFleet(work: ServerWork, until: number, tally: Tally, options: MatrixOptions): Promise<void> {
  const { server, messages } = work
  const { command, looksBack = true, tellsMessages = false, onProgress } = options
  const fleet = await Fleet.start(server, command)
  const played: Played[] = []
  const killAll = async (kills: PlannedKill[], by = until): Promise<number> => {
    let count = 0
    while (performance.now() < by) {
      const next = kills.shift()
      if (next === undefined) break
      const { cell, victim, at } = next
      const position = 1 + Math.floor(at * (messages.get(nameOf(cell)) ?? MESSAGES))
      const result = await runScenario(fleet, cell, { victim, at: position })
      const { keys, violations, passed } = result
      played.push({ cell, keys, violations })
      noteKill(tally, cell, victim, result)
      if (tellsMessages && violations.length > 0) for (const each of passed) onProgress?.(`  ${each}`)
      if (result.killedAt !== undefined) count++
      await fleet.mended()
    }
    return count
  }
  try {
    const fresh = looksBack ? await fleet.vitals() : []
    for (let cell = work.alone.shift(); cell !== undefined; cell = work.alone.shift()) {
      const result = await runScenario(fleet, cell)
      messages.set(nameOf(cell), result.messages)
      noteRun(tally, cell, result)
    }
    // Where the time is short, all kinds of victims have a share of it.
    const now = performance.now()
    await killAll(work.ofGateways, now + (until - now) * GATEWAYS_SHARE)
    await killAll(work.warmUp)
    if (looksBack) await remainsOf(fleet, fresh, tally, () => killAll(work.rest))
    else await killAll(work.rest)
    noteLateRepeats(fleet, played, tally)
    tally.orphans += await fleet.orphans()
  } finally {
    await fleet.stop()
  }
}

/** A scenario that is over. */
type Played = Pick<ScenarioResult, 'keys' | 'violations'> & { readonly cell: Cell }

/** What was done once more after its scenario was over. */
function noteLateRepeats(fleet: Fleet, played: readonly Played[], tally: Tally): void {
  for (const { cell, keys, violations } of played) {
    const behaviour = BEHAVIOURS[cell.behaviour]
    if (behaviour === undefined || violations.length > 0) continue
    const repeats = keys.flatMap((key) => repeatsOf(behaviour, fleet.effectsOf(key)))
    for (const each of repeats) violate(tally, `${nameOf(cell)}, later: ${each}`)
  }
}
