/** What is measured of tasks, whether an engine keeps them or bare statements write its rows. */
import type { Limit, Outcome } from '../../load/load.ts'

export interface TaskLoad {
  kind: 'tasks' | 'steps'
  /** Each is followed by the next as soon as it is over. */
  inFlight: number
}

export interface TaskStore {
  /** Tasks that are made and end at once. One is over when its end is on the disk. */
  tasks(inFlight: number): Promise<TaskSession>
  /** Steps of so many runs, which have begun; in each one is committed after the other. */
  steps(inFlight: number): Promise<TaskSession>
  /** So far, by everybody who uses the store. */
  writeCounts(): Promise<WriteCounts>
}

export interface TaskSession {
  run(limit: Limit): Promise<Outcome>
  /** Ends what has begun, and says what is wrong with it. */
  close(): Promise<string | undefined>
}

/** What has reached the store, as the store itself counts it. */
export interface WriteCounts {
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
