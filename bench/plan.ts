import type { Rounds } from './measure/compare.ts'

/** How long and how often everything is measured. */
export interface Plan {
  rounds: Rounds
  /** How many processes of each program are measured, one after the other, each for all these rounds. */
  generations: number
  /** Time under load before the rate counts. The SDK still gets faster after seven seconds. */
  warmUpMs: { baseline: number; sdk: number; pannier: number }
  memory: { calls: number; repeats: number; streams: number }
  /** For each client setup. */
  clients: { rounds: Rounds; warmUpMs: number }
  /** For each store of a jar, for reads and again for writes. */
  jar: { rounds: Rounds; warmUpMs: number }
  /** For each load on each task store; `answers` is how many answers are timed. */
  tasks: { rounds: Rounds; warmUpMs: number; answers: number }
  /** Rounds of flows; timed answers per batch, and the number of batches; concurrent waiting calls. */
  bridge: { rounds: Rounds; warmUpMs: number; batches: number; answers: number; parked: number }
  /** Of each framework: rounds with a fresh process, CPU time of the warm-up, the time that is measured, and starts. */
  frameworks: { rounds: number; warmUpMs: number; ms: number; unrecorded: number; launches: number }
  /** How many tasks wait, how many subscriptions are open, and how many calls wait. */
  growth: { tasks: number; subscriptions: number; calls: number }
  /** The time for each size of a seal and for each pass over a long journal. */
  microMs: number
  /** Time for repetitions while other processes use the machine. */
  patienceMs: number
}

export const CONNECTIONS = 32

export const FULL: Plan = {
  rounds: { count: 3, turns: 10, turnMs: 200 },
  generations: 3,
  warmUpMs: { baseline: 3_000, sdk: 10_000, pannier: 5_000 },
  memory: { calls: 15_000, repeats: 3, streams: 5000 },
  clients: { rounds: { count: 45, turns: 5, turnMs: 20 }, warmUpMs: 1_000 },
  jar: { rounds: { count: 7, turns: 5, turnMs: 50 }, warmUpMs: 300 },
  tasks: { rounds: { count: 7, turns: 4, turnMs: 75 }, warmUpMs: 800, answers: 60 },
  bridge: {
    rounds: { count: 7, turns: 4, turnMs: 400 },
    warmUpMs: 4_000,
    batches: 15,
    answers: 40,
    parked: 10_000,
  },
  frameworks: { rounds: 3, warmUpMs: 10_000, ms: 6_000, unrecorded: 5, launches: 40 },
  growth: { tasks: 100_000, subscriptions: 10_000, calls: 10_000 },
  microMs: 1_500,
  patienceMs: 60_000,
}

export const QUICK: Plan = {
  rounds: { count: 3, turns: 3, turnMs: 150 },
  generations: 1,
  warmUpMs: { baseline: 500, sdk: 1_500, pannier: 750 },
  memory: { calls: 1_500, repeats: 1, streams: 500 },
  clients: { rounds: { count: 3, turns: 3, turnMs: 25 }, warmUpMs: 200 },
  jar: { rounds: { count: 3, turns: 2, turnMs: 30 }, warmUpMs: 50 },
  tasks: { rounds: { count: 3, turns: 2, turnMs: 50 }, warmUpMs: 60, answers: 10 },
  bridge: { rounds: { count: 3, turns: 2, turnMs: 300 }, warmUpMs: 1_000, batches: 3, answers: 10, parked: 500 },
  frameworks: { rounds: 1, warmUpMs: 1_000, ms: 1_000, unrecorded: 1, launches: 3 },
  growth: { tasks: 2_000, subscriptions: 200, calls: 200 },
  microMs: 200,
  patienceMs: 3_000,
}
