import { readFileSync } from 'node:fs'
import { TICK_MS } from './procfs.ts'
import type { CpuSource } from './cpuUsage.ts'

/** A process that a measured one started: it is asked nothing, the system tells what it used. */
export function processCpu(pid: number): CpuSource {
  return { ask: async () => timesOf(pid).own }
}

/** A process with all that it has started. */
export function processTreeCpu(pid: number): CpuSource {
  return {
    async ask() {
      const { own, ended } = timesOf(pid)
      return childrenOf(pid).reduce((sum, child) => sum + timesOf(child).own, own + ended)
    },
  }
}

/** Nothing where /proc is not. */
export function parentOf(pid: number): number | undefined {
  return fieldsOf(pid)?.[1]
}

/** CPU time of a process, and of its children that are no more. Without /proc nobody knows what others use either. */
function timesOf(pid: number): { own: number; ended: number } {
  const fields = fieldsOf(pid) ?? []
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15)
  return { own: (user + system) * TICK_MS, ended: (endedUser + endedSystem) * TICK_MS }
}

function fieldsOf(pid: number): number[] | undefined {
  const stat = read(`/proc/${pid}/stat`)
  // The name of the program stands in brackets, and may hold anything.
  return stat
    ?.slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
}

function childrenOf(pid: number): number[] {
  const list = read(`/proc/${pid}/task/${pid}/children`)?.trim()
  return list ? list.split(' ').map(Number) : []
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
