import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** The measured process has one core, the bench with its load generator another. */
export const SERVER_CORE = 0
export const LOAD_CORE = 1

/** Whether processes can be pinned to cores here. */
function findTaskset(): boolean {
  if (availableParallelism() < 2) return false
  try {
    execFileSync('taskset', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Pins this process with all its threads to the load generator's core; false where that is not possible. */
export function pinLoadGenerator(): boolean {
  if (!findTaskset()) return false
  try {
    execFileSync('taskset', ['-acp', String(LOAD_CORE), String(process.pid)], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** The command line that runs a program on a core. */
export function onCore(core: number, pinned: boolean, command: string[]): string[] {
  return pinned ? ['taskset', '-c', String(core), ...command] : command
}
