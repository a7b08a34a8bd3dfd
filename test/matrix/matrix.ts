/** All cells once, and then kills, one after the other over all cells, until there are enough or the time is over. */
import { BEHAVIOURS } from './behaviours.ts'
import { CLIENTS } from './clients.ts'
import { type GatewayCommand, PANNIER, Replicas, SERVERS } from './replicas.ts'
import { Report } from './report.ts'
import { type Cell, runScenario, VICTIMS, type Victim } from './scenario.ts'

export interface MatrixOptions {
  readonly cells?: readonly Cell[]
  /** Where something is killed. @default in all of them */
  readonly killedIn?: readonly Cell[]
  readonly kills: number
  readonly minutes: number
  /** How many pairs of gateways work at once. */
  readonly fleets: number
  readonly command?: GatewayCommand
  readonly onProgress?: (line: string) => void
}

export const ALL_CELLS: readonly Cell[] = CLIENTS.flatMap((client) =>
  SERVERS.flatMap((server) => Object.keys(BEHAVIOURS).map((behaviour) => ({ client, server, behaviour }))),
)

const GATEWAYS = 2

interface PlannedKill {
  readonly cell: Cell
  readonly victim: Victim
  readonly turn: number
}

export async function runMatrix(options: MatrixOptions): Promise<Report> {
  const {
    cells = ALL_CELLS,
    killedIn = cells,
    kills,
    minutes,
    fleets,
    command = PANNIER,
    onProgress = () => {},
  } = options
  const report = new Report()
  const messages = new Map<Cell, number>()
  const until = performance.now() + minutes * 60_000
  const waiting = [...cells]
  const planned = plan(killedIn, kills)
  const work = async (): Promise<void> => {
    const replicas = await Replicas.start(GATEWAYS, command)
    try {
      for (let cell = waiting.shift(); cell !== undefined; cell = waiting.shift()) {
        const result = await runScenario(replicas, cell)
        messages.set(cell, result.messages)
        report.ran(cell, result)
      }
      for (let next = planned.shift(); next !== undefined && performance.now() < until; next = planned.shift()) {
        const { cell, victim, turn } = next
        const at = 1 + ((turn * 7) % (messages.get(cell) ?? 10))
        const before = report.violations.length
        report.killed(cell, victim, await runScenario(replicas, cell, { victim, at }))
        for (const violation of report.violations.slice(before)) onProgress(violation)
        await replicas.mended()
      }
      report.orphans += await replicas.orphans()
    } finally {
      await replicas.stop()
    }
  }
  await Promise.all(Array.from({ length: fleets }, work))
  return report
}

/** Each cell and victim by turns, and each time at another message. */
function plan(cells: readonly Cell[], kills: number): PlannedKill[] {
  const pairs = VICTIMS.flatMap((victim) => cells.map((cell) => ({ cell, victim })))
  return Array.from({ length: pairs.length === 0 ? 0 : kills }, (_, turn) => {
    const { cell, victim } = pairs[(turn * 13) % pairs.length] as (typeof pairs)[number]
    return { cell, victim, turn }
  })
}
