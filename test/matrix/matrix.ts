/** All cells once, and then faults, one after the other over all cells, until there are enough or the time is over. */
import { BEHAVIOURS } from './behaviours.ts'
import { type Cell, nameOf, POSSIBLE_CELLS } from './cells.ts'
import { Fleet } from './fleet/fleet.ts'
import { COMMANDS, type Form } from './fleet/forms.ts'
import type { ServerName } from './fleet/servers.ts'
import { endsGateway, type Fault, type FaultAt } from './faults.ts'
import { planFaults, type PlannedFault, type Slice, sliceOf } from './plan.ts'
import { remainsOf } from './remains.ts'
import { runScenario, type ScenarioResult } from './scenario.ts'
import { countOf, emptyTally, noteFault, noteRun, type Tally, violate } from './tally.ts'
import { repeatsOf } from './verdict.ts'

export interface MatrixOptions {
  readonly cells?: readonly Cell[]
  /** How many faults. */
  readonly count: number
  readonly minutes: number
  /** A part of the whole. @default all of it */
  readonly slice?: Slice
  /** Whether what gateways hold at the end is compared with what they held at the start. @default true */
  readonly looksBack?: boolean
  /** @default 'gateways' */
  readonly form?: Form
  /** By cell, how many messages there were when it was left alone; filled in. Cells that are there are not run alone again. */
  readonly messages?: Map<string, number>
  /** So many cells of a server have gateways of their own. @default 35 */
  readonly cellsPerFleet?: number
  /** @default all of them */
  readonly faults?: readonly Fault[]
  /** Whether the messages before and after a violation are told. @default false */
  readonly tellsMessages?: boolean
  readonly onProgress?: (line: string) => void
}

/** Of the time for faults. A gateway takes longer to start than a server. */
const GATEWAYS_SHARE = 0.6
/** Where no run was there to count them. */
const MESSAGES = 20

/** Fleets work at once, each before one server, and those before the same server share what is to be done. */
export async function runMatrix(options: MatrixOptions): Promise<Tally> {
  const { cells = POSSIBLE_CELLS, count: wanted, minutes, slice = { part: 1, of: 1 }, cellsPerFleet = 35 } = options
  const { form = 'gateways', messages = new Map<string, number>() } = options
  const began = performance.now()
  const tally = emptyTally(options.onProgress)
  const planned = sliceOf(planFaults(cells, wanted, options.faults), slice)
  const alone = sliceOf(cells, slice).filter((cell) => !messages.has(nameOf(cell)))
  const servers = new Set([...alone, ...planned.map(({ cell }) => cell)].map(({ server }) => server))
  const until = began + minutes * 60_000
  const fleets = [...servers].flatMap((server) => {
    const work = new ServerWork(server, { alone, planned, messages })
    const ofServer = cells.filter((cell) => cell.server === server)
    const count = Math.max(1, Math.round(ofServer.length / cellsPerFleet))
    return Array.from({ length: count }, () => runFleet(work, until, tally, { ...options, form }))
  })
  await Promise.all(fleets)
  tally.seconds = Math.round((performance.now() - began) / 1000)
  tally.fleets[form] = { ...countOf(tally), seconds: tally.seconds }
  return tally
}

/** What is to be done before all servers. */
interface Planned {
  readonly alone: readonly Cell[]
  readonly planned: readonly PlannedFault[]
  readonly messages: Map<string, number>
}

/** What is still to be done before one server. */
class ServerWork {
  readonly server: ServerName
  readonly alone: Cell[]
  /** Gateways that end come first. Later gateways live, and must be what they were. */
  readonly ofGateways: PlannedFault[]
  readonly warmUp: PlannedFault[]
  readonly rest: PlannedFault[]
  readonly messages: Map<string, number>

  constructor(server: ServerName, of: Planned) {
    this.server = server
    this.alone = of.alone.filter((cell) => cell.server === server)
    this.messages = of.messages
    const faults = of.planned.filter(({ cell }) => cell.server === server)
    this.ofGateways = faults.filter(({ fault }) => endsGateway(fault))
    this.rest = faults.filter(({ fault }) => !endsGateway(fault))
    this.warmUp = this.rest.splice(0, Math.ceil(this.rest.length / 4))
  }
}

async function runFleet(
  work: ServerWork,
  until: number,
  tally: Tally,
  options: MatrixOptions & { readonly form: Form },
): Promise<void> {
  const { server, messages } = work
  const { form, looksBack = true, tellsMessages = false, onProgress } = options
  const fleet = await Fleet.start(server, COMMANDS[form])
  const played: Played[] = []
  const strikeAll = async (planned: PlannedFault[], by = until): Promise<number> => {
    let count = 0
    while (performance.now() < by) {
      const next = planned.shift()
      if (next === undefined) break
      const { cell, fault, at } = next
      const expected = messages.get(nameOf(cell)) ?? MESSAGES
      const result = await runFault(fleet, cell, { ...fault, at: 1 + Math.floor(at * expected) })
      const { keys, violations, passed } = result
      played.push({ cell, keys, violations })
      noteFault(tally, cell, fault, result)
      if (tellsMessages && violations.length > 0) for (const each of passed) onProgress?.(`  ${each}`)
      if (result.struckAt !== undefined) count++
      await fleet.mended()
    }
    return count
  }
  try {
    const fresh = looksBack ? await fleet.vitals() : []
    for (let cell = work.alone.shift(); cell !== undefined; cell = work.alone.shift()) {
      const result = await runScenario(fleet, cell)
      messages.set(nameOf(cell), result.messages)
      noteRun(tally, form, cell, result)
    }
    // Where the time is short, all kinds of victims have a share of it.
    const now = performance.now()
    await strikeAll(work.ofGateways, now + (until - now) * GATEWAYS_SHARE)
    await strikeAll(work.warmUp)
    if (looksBack) await remainsOf(fleet, fresh, tally, () => strikeAll(work.rest))
    else await strikeAll(work.rest)
    noteLateRepeats(fleet, played, tally)
    const lingering = await fleet.lingering()
    if (lingering > 0) violate(tally, `${server}: ${lingering} processes that were stopped did not end in time`)
    tally.orphans += await fleet.orphans()
  } finally {
    await fleet.stop()
  }
}

/** A run may have fewer messages than there were before, or none where the fault can happen so late. */
async function runFault(fleet: Fleet, cell: Cell, { at, ...fault }: FaultAt): Promise<ScenarioResult> {
  const result = await runScenario(fleet, cell, { ...fault, at })
  const isOver = result.struckAt !== undefined || result.violations.length > 0 || at === 1
  return isOver ? result : runFault(fleet, cell, { ...fault, at: Math.ceil(at / 3) })
}

/** A scenario that is over. */
type Played = Pick<ScenarioResult, 'keys' | 'violations'> & { readonly cell: Cell }

/** What was done once more after its scenario was over. */
function noteLateRepeats(fleet: Fleet, played: readonly Played[], tally: Tally): void {
  for (const { cell, keys, violations } of played) {
    const behaviour = BEHAVIOURS[cell.behaviour]
    if (behaviour === undefined || violations.length > 0) continue
    const repeats = keys.flatMap((key) => repeatsOf(behaviour, { key, effects: fleet.effectsOf(key) }))
    for (const each of repeats) violate(tally, `${nameOf(cell)}, later: ${each}`)
  }
}
