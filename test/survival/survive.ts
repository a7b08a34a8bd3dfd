/** The calls of all tools by all clients, while the instances are left alone, restarted or killed. */
import { Fleet } from './fleet.ts'
import { type Plan, runScenario } from './scenario.ts'
import { type Outcome, type ToolName, tools } from './verdict.ts'

/** What happens to the instances meanwhile. */
export const troubles = {
  none: undefined,
  /** Each is replaced by a new one, which is there before the old one goes. */
  restarts: (fleet: Fleet) => fleet.replace('SIGTERM'),
  /** Each goes, and then a new one comes at the same address. */
  'restarts in place': (fleet: Fleet) => fleet.restart(),
  kills: (fleet: Fleet) => fleet.replace('SIGKILL'),
} as const

export type Trouble = keyof typeof troubles

export interface SurviveOptions extends Omit<Plan, 'isOver'> {
  readonly instances: number
  readonly trouble: Trouble
  /** From one restart or kill to the next, in milliseconds. */
  readonly everyMs: number
  /** How many restarts or kills there are; calls go on until then. @default as many as there can be until all calls are made */
  readonly times?: number
  /** Whether all tools are called at the same time. @default false, one after the other */
  readonly together?: boolean
  /** @default all */
  readonly tools?: readonly ToolName[]
  /** Programs of different versions, which instances run by turns. @default that of this version */
  readonly programs?: readonly string[]
  readonly onOutcome?: (outcome: Outcome) => void
}

export interface Survival {
  readonly outcomes: readonly Outcome[]
  /** How often there was trouble. */
  readonly times: number
  /** How long each instance that was told to stop took, in milliseconds. */
  readonly stopMs: readonly number[]
}

export async function survive(options: SurviveOptions): Promise<Survival> {
  const fleet = await Fleet.start(options.instances, options.programs)
  const trouble = new Troubles(fleet, options)
  const isOver = (): boolean => trouble.times >= (options.times ?? 0)
  const run = async ({ tool, client }: Kind): Promise<Outcome> => {
    const outcome = await runScenario(fleet, tool, client, { ...options, isOver })
    options.onOutcome?.(outcome)
    return outcome
  }
  const kinds = (options.tools ?? (Object.keys(tools) as ToolName[])).flatMap((tool): Kind[] => [
    { tool, client: 'v1' },
    { tool, client: 'v2' },
  ])
  const outcomes: Outcome[] = []
  try {
    if (options.together) outcomes.push(...(await Promise.all(kinds.map(run))))
    else for (const kind of kinds) outcomes.push(await run(kind))
  } finally {
    await trouble.end()
    await fleet.stop()
  }
  return { outcomes, times: trouble.times, stopMs: fleet.stopMs }
}

type Kind = Pick<Outcome, 'tool' | 'client'>

/** Restarts or kills, one after the other, until it is ended. */
class Troubles {
  times = 0
  readonly #going: Promise<void>
  #isEnded = false

  constructor(fleet: Fleet, { trouble, everyMs, times = Number.POSITIVE_INFINITY }: SurviveOptions) {
    const make = troubles[trouble]
    this.#going = make === undefined ? Promise.resolve() : this.#goOn(() => make(fleet), everyMs, times)
  }

  end(): Promise<void> {
    this.#isEnded = true
    return this.#going
  }

  async #goOn(make: () => Promise<void>, everyMs: number, times: number): Promise<void> {
    while (!this.#isEnded && this.times < times) {
      await new Promise((resolve) => setTimeout(resolve, everyMs))
      await make()
      this.times++
    }
  }
}
