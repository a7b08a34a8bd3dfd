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

export interface SurviveOptions extends Plan {
  readonly instances: number
  readonly trouble: Trouble
  /** From one restart or kill to the next, in milliseconds. */
  readonly everyMs: number
  /** @default all */
  readonly tools?: readonly ToolName[]
  readonly onOutcome?: (outcome: Outcome) => void
}

export async function survive(options: SurviveOptions): Promise<Outcome[]> {
  const fleet = await Fleet.start(options.instances)
  const makeTrouble = troubles[options.trouble]
  const over = new AbortController()
  const goOn = async (make: (fleet: Fleet) => Promise<void>): Promise<void> => {
    while (!over.signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, options.everyMs))
      await make(fleet)
    }
  }
  const trouble = makeTrouble && goOn(makeTrouble)
  const outcomes: Outcome[] = []
  try {
    for (const tool of options.tools ?? (Object.keys(tools) as ToolName[])) {
      for (const client of ['v1', 'v2'] as const) {
        const outcome = await runScenario(fleet, tool, client, options)
        options.onOutcome?.(outcome)
        outcomes.push(outcome)
      }
    }
  } finally {
    over.abort()
    await trouble
    await fleet.stop()
  }
  return outcomes
}
