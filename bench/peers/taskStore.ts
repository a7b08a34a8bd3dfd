/** What is measured of tasks, whether an engine keeps them or bare statements write its rows. */
import type { Limit } from '../load/load.ts'
import type { Sample } from '../measure/contender.ts'

export interface TaskLoad {
  limit: Limit
  /** Each is followed by the next as soon as it is over. */
  inFlight: number
}

export interface TaskStore {
  /** Makes tasks that end at once. One is over when its end is on the disk. */
  tasks(load: TaskLoad): Promise<Sample>
  /** Commits steps of so many runs, each one after the other. */
  steps(load: TaskLoad): Promise<Sample>
  /** So far, by everybody who uses the store. */
  written(): Promise<Written>
}

/** What has reached the store, as the store itself counts it. */
export interface Written {
  commits: number
  bytes: number
}

export const AUDIENCE = 'bench'
export const OWNER = 'ann'
export const TOOL = 'deploy'

/** What a task of the usual size holds. */
export const ARGS = { repository: 'example/pannier', branch: 'main', environment: 'staging', dryRun: false }
export const CALLER = { principal: OWNER, protocol: '2026-07-28', client: { name: 'bench', version: '1.0.0' } }
export const RESULT = { content: [{ type: 'text', text: 'Deployed example/pannier (main) to staging.' }] }
export const STEP = { revision: '7cef28e', artifact: 'pannier-0.1.0.tgz', bytes: 183_204 }

/** The key of a run's n-th step. */
export function stepKey(n: number): string {
  return `upload part ${n}`
}

/** Does the same several times at once. */
export function inLanes<T>(lanes: number, work: (lane: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: lanes }, (_, lane) => work(lane)))
}
