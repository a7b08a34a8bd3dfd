/** One gateway of others: its cells left alone, kills where it works, and several of it behind a plain balancer. */
import { versionOf } from '../../../interop/packages.ts'
import { BEHAVIOURS } from '../behaviours.ts'
import { type Cell, nameOf, whyNot } from '../cells.ts'
import { Fleet } from '../fleet/fleet.ts'
import type { GatewayCommand } from '../fleet/gateways.ts'
import type { Fault, FaultAt, Victim } from '../faults.ts'
import { planFaults, type PlannedFault } from '../plan.ts'
import { type Limits, runScenario, type ScenarioResult } from '../scenario.ts'
import { toldBy } from '../verdict.ts'
import { addFates, emptyFates, type Trial } from './counts.ts'
import { folderOf, type OtherGateway } from './gateways.ts'
import { type Fate, fatesOf } from './judge.ts'

export interface TrialOptions {
  readonly kills: number
  /** For the kills. */
  readonly minutes: number
  readonly limits?: Limits
  /** So many fleets before each server share what is to be done. @default 2 */
  readonly fleets?: number
  readonly behaviours?: readonly string[]
  readonly onProgress?: (line: string) => void
}

/** Far longer than any call here takes when it is left alone. */
const LIMITS: Limits = { timeoutMs: 10_000, hungAfterMs: 15_000, isPolite: true }
const ORPHANS_END_WITHIN_MS = 20_000
/** Where no run was there to count them. */
const MESSAGES = 20
/** What is tried with two behind a balancer, where it works with one. */
const TRIED_WITH_TWO = new Set([
  'a plain call',
  'structured results',
  'errors',
  'two, one after the other',
  'sampling',
  'progress',
  'resource updates',
  'cancellation by the client',
])

export const OTHER_VICTIMS = ['holder', 'server', 'client'] as const satisfies readonly Victim[]
const KILLS: readonly Fault[] = OTHER_VICTIMS.map((victim) => ({ kind: 'kill', victim }))

export async function tryGateway(gateway: OtherGateway, options: TrialOptions): Promise<Trial> {
  const trial = new Running(gateway, options)
  return trial.run()
}

/** Before one server, with one gateway or two. */
interface Stand {
  readonly fleet: Fleet
  readonly played: { cell: Cell; result: ScenarioResult; fates: Fate[] }[]
}

class Running {
  readonly #gateway: OtherGateway
  readonly #options: TrialOptions
  readonly #limits: Limits
  readonly #cells: readonly Cell[]
  readonly #messages = new Map<string, number>()
  readonly #trial: Trial

  constructor(gateway: OtherGateway, options: TrialOptions) {
    this.#gateway = gateway
    this.#options = options
    this.#limits = options.limits ?? LIMITS
    const { behaviours = Object.keys(BEHAVIOURS) } = options
    this.#cells = gateway.pairs
      .flatMap(([client, server]) => behaviours.map((behaviour) => ({ client, server, behaviour })))
      .filter((cell) => whyNot(cell) === undefined)
    const claimed = this.#cells.filter((cell) => gateway.claims(cell)).map(nameOf)
    const { name, package: of } = gateway
    const version = of === undefined ? 'this one' : (versionOf(folderOf(name), of) ?? '')
    this.#trial = {
      name,
      version,
      cells: {},
      claimed,
      two: {},
      kills: {},
      told: {},
      revived: 0,
      left: 0,
      seconds: 0,
    }
  }

  async run(): Promise<Trial> {
    const began = performance.now()
    const { command, two = command } = this.#gateway
    await this.#onFleets(this.#cells, { ...command, replicas: 1 }, async (stands) => {
      await this.#share(stands, [...this.#cells], (stand, cell) => this.#leaveAlone(stand, cell, this.#trial.cells))
      await this.#killAll(stands)
    })
    const tried = this.#working().filter(({ behaviour }) => TRIED_WITH_TWO.has(behaviour))
    if (!command.isPerClient)
      await this.#onFleets(tried, { ...two, replicas: 2 }, (stands) =>
        this.#share(stands, [...tried], (stand, cell) => this.#leaveAlone(stand, cell, this.#trial.two)),
      )
    this.#trial.seconds = Math.round((performance.now() - began) / 1000)
    return this.#trial
  }

  async #onFleets(
    cells: readonly Cell[],
    command: GatewayCommand,
    use: (stands: readonly Stand[]) => Promise<void>,
  ): Promise<void> {
    const servers = [...new Set(cells.map(({ server }) => server))]
    const wanted = servers.flatMap((server) => Array.from({ length: this.#options.fleets ?? 2 }, () => server))
    const fleets = await Promise.all(wanted.map((server) => Fleet.start(server, command)))
    try {
      await use(fleets.map((fleet) => ({ fleet, played: [] })))
    } finally {
      await Promise.all(fleets.map((fleet) => fleet.stop()))
    }
  }

  /** Fleets before the same server take what is to be done there from one queue. */
  async #share(
    stands: readonly Stand[],
    cells: Cell[],
    play: (stand: Stand, cell: Cell) => Promise<void>,
  ): Promise<void> {
    const take = (stand: Stand): Cell | undefined => {
      const at = cells.findIndex(({ server }) => server === stand.fleet.server)
      return at < 0 ? undefined : cells.splice(at, 1)[0]
    }
    await Promise.all(
      stands.map(async (stand) => {
        for (let cell = take(stand); cell !== undefined; cell = take(stand)) await play(stand, cell)
      }),
    )
  }

  /** What is named and does not work is tried once more with fresh callers, since a machine can be slow. */
  async #leaveAlone(stand: Stand, cell: Cell, into: Record<string, string>): Promise<void> {
    let why = ''
    const tries = this.#gateway.claims(cell) ? 2 : 1
    for (let turn = 0; turn < tries; turn++) {
      const { result, fates } = await this.#play(stand, cell)
      this.#messages.set(nameOf(cell), result.messages)
      why = fates.every((fate) => fate === 'right') ? '' : reasonOf(result, fates)
      if (why === '') break
      await stand.fleet.revived()
    }
    into[nameOf(cell)] = why
    if (why !== '')
      this.#options.onProgress?.(
        `${this.#gateway.name}${into === this.#trial.two ? ', two' : ''}: ${nameOf(cell)}: ${why}`,
      )
  }

  async #killAll(stands: readonly Stand[]): Promise<void> {
    const until = performance.now() + this.#options.minutes * 60_000
    const planned = [...planFaults(this.#working(), this.#options.kills, KILLS)]
    const take = ({ fleet }: Stand): PlannedFault | undefined => {
      const at = planned.findIndex(({ cell }) => cell.server === fleet.server)
      return at < 0 ? undefined : planned.splice(at, 1)[0]
    }
    await Promise.all(
      stands.map(async (stand) => {
        for (let next = take(stand); next !== undefined && performance.now() < until; next = take(stand))
          await this.#kill(stand, next)
        this.#noteLate(stand)
        this.#trial.left += await stand.fleet.orphans(ORPHANS_END_WITHIN_MS)
      }),
    )
  }

  async #kill(stand: Stand, { cell, fault, at }: PlannedFault): Promise<void> {
    const position = 1 + Math.floor(at * (this.#messages.get(nameOf(cell)) ?? MESSAGES))
    const { result, fates } = await this.#play(stand, cell, { ...fault, at: position })
    if (result.struckAt !== undefined) {
      addFates((this.#trial.kills[fault.victim] ??= emptyFates()), fates)
      for (const end of result.ends) {
        const told = toldBy(end)?.replaceAll(/(ann|bob)-\d+-/g, 'KEY')
        if (told !== undefined) this.#trial.told[told] = (this.#trial.told[told] ?? 0) + 1
      }
      const bad = fates.filter((fate) => fate !== 'right' && fate !== 'told')
      if (bad.length > 0)
        this.#options.onProgress?.(
          `${this.#gateway.name}: ${nameOf(cell)}, ${fault.victim} killed at ${result.struckAt}: ${reasonOf(result, bad)}`,
        )
    }
    if (await stand.fleet.revived()) this.#trial.revived++
  }

  async #play(
    { fleet, played }: Stand,
    cell: Cell,
    kill?: FaultAt,
  ): Promise<{ result: ScenarioResult; fates: Fate[] }> {
    const result = await runScenario(fleet, cell, kill, this.#limits)
    const behaviour = BEHAVIOURS[cell.behaviour]
    if (behaviour === undefined) throw new Error(`There is no behaviour "${cell.behaviour}".`)
    const victim = result.struckAt && kill?.victim
    const effectsOf = (key: string) => fleet.effectsOf(key)
    const fates = fatesOf(result.outcomes, { behaviour, victim, limits: this.#limits, effectsOf })
    if (kill !== undefined) played.push({ cell, result, fates })
    return { result, fates }
  }

  /** What was done once more after its scenario was over. */
  #noteLate({ fleet, played }: Stand): void {
    for (const { cell, result, fates } of played) {
      const behaviour = BEHAVIOURS[cell.behaviour]
      if (behaviour === undefined || fates.includes('doubled')) continue
      const judged = {
        behaviour,
        victim: undefined,
        limits: this.#limits,
        effectsOf: (key: string) => fleet.effectsOf(key),
      }
      const late = fatesOf(result.outcomes, judged).filter((fate) => fate === 'doubled')
      addFates((this.#trial.kills['later'] ??= emptyFates()), late, 0)
    }
  }

  #working(): readonly Cell[] {
    return this.#cells.filter((cell) => this.#trial.cells[nameOf(cell)] === '')
  }
}

function reasonOf({ outcomes }: ScenarioResult, fates: readonly Fate[]): string {
  const ends = outcomes.map(({ end }) => toldBy(end) ?? JSON.stringify(end))
  return `${[...new Set(fates.filter((fate) => fate !== 'right'))].join(', ')}: ${[...new Set(ends)].join(' / ').slice(0, 300)}`
}
