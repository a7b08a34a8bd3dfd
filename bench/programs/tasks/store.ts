/** The interface of the measured task stores: an engine, or prepared statements that write the same rows. */
import type { Limit, Outcome } from '../../load/load.ts'

export interface TaskLoad {
  kind: 'tasks' | 'steps'
  /** The next one begins as soon as one has ended. */
  inFlight: number
}

export interface TaskStore {
  /** Tasks that are created and end at once. A task has ended when its end is committed. */
  tasks(inFlight: number): Promise<TaskSession>
  /** Steps of open runs; each run commits one step after the other. */
  steps(inFlight: number): Promise<TaskSession>
  /** Writes so far, by all users of the store. */
  writeCounts(): Promise<WriteCounts>
}

export interface TaskSession {
  run(limit: Limit): Promise<Outcome>
  /** Ends the open runs. Returns what is wrong with the results, if anything. */
  close(): Promise<string | undefined>
}

/** What was written to the store, as the store itself counts it. */
export interface WriteCounts {
  commits: number
  bytes: number
}

export const AUDIENCE = 'bench'
export const OWNER = 'ann'
export const TOOL = 'deploy'

/** The content of a task of usual size. */
export const ARGS = { repository: 'example/pannier', branch: 'main', environment: 'staging', dryRun: false }
export const CALLER = { principal: OWNER, protocol: '2026-07-28', client: { name: 'bench', version: '1.0.0' } }
export const RESULT = { content: [{ type: 'text', text: 'Deployed example/pannier (main) to staging.' }] }
export const STEP = { revision: '7cef28e', artifact: 'pannier-0.1.0.tgz', bytes: 183_204 }

/** The key of a run's n-th step. */
export function stepKey(n: number): string {
  return `upload part ${n}`
}
