import type { Outcome } from '../load/load.ts'
import { median } from './statistics.ts'

/** One of the programs that are compared. */
export interface Contender {
  name: string
  /** How long it is under load before its rate counts. */
  warmUpMs: number
  /** Connects to it, so that each turn can start at once. */
  open(): Promise<Turns>
}

export interface Turns {
  run(ms: number): Promise<Sample>
  close(): void
}

/** The result of one turn, or of all turns of a round. */
export interface Sample extends Outcome {
  /** CPU time of the server. */
  serverMs: number
  /** CPU time of the load generator. */
  loadMs: number
}

export function sumOf(samples: readonly Sample[]): Sample {
  const total = (pick: (sample: Sample) => number): number => samples.reduce((sum, sample) => sum + pick(sample), 0)
  const medians = samples.map(({ medianMs }) => medianMs).filter((ms) => ms !== undefined)
  const firstWrong = samples.find((sample) => sample.firstWrong !== undefined)?.firstWrong
  return {
    count: total(({ count }) => count),
    ms: total(({ ms }) => ms),
    wrong: total(({ wrong }) => wrong),
    serverMs: total(({ serverMs }) => serverMs),
    loadMs: total(({ loadMs }) => loadMs),
    ...(medians.length > 0 && { medianMs: median(medians) }),
    ...(firstWrong !== undefined && { firstWrong }),
  }
}

/** Units per second. */
export function rate(sample: Sample): number {
  return sample.count / (sample.ms / 1000)
}

/** Units per second of the server's CPU time, which does not depend on what other processes use. */
export function cpuRate(sample: Sample): number {
  return sample.count / (sample.serverMs / 1000)
}
