import type { Outcome } from '../load/load.ts'
import { median } from './statistics.ts'

/** One of those measured side by side. */
export interface Contender {
  name: string
  /** Load it needs before its rate counts. */
  warmUpMs: number
  /** Connects to it; each turn then starts at once. */
  open(): Promise<Turns>
}

export interface Turns {
  run(ms: number): Promise<Sample>
  close(): void
}

/** What a contender did in one turn, or in all its turns of a round. */
export interface Sample extends Outcome {
  /** CPU time of the server. */
  serverMs: number
  /** CPU time of the load generator. */
  loadMs: number
}

export function sumOf(samples: readonly Sample[]): Sample {
  const total = (pick: (sample: Sample) => number): number => samples.reduce((sum, sample) => sum + pick(sample), 0)
  const middles = samples.map(({ medianMs }) => medianMs).filter((middle) => middle !== undefined)
  const firstWrong = samples.find((sample) => sample.firstWrong !== undefined)?.firstWrong
  return {
    count: total(({ count }) => count),
    ms: total(({ ms }) => ms),
    wrong: total(({ wrong }) => wrong),
    serverMs: total(({ serverMs }) => serverMs),
    loadMs: total(({ loadMs }) => loadMs),
    ...(middles.length > 0 && { medianMs: median(middles) }),
    ...(firstWrong !== undefined && { firstWrong }),
  }
}

/** Units per second. */
export function rate(sample: Sample): number {
  return sample.count / (sample.ms / 1000)
}

/** Units per second of the server's CPU time, into which what others on the machine take does not enter. */
export function cpuRate(sample: Sample): number {
  return sample.count / (sample.serverMs / 1000)
}
