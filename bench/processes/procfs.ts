import { readFileSync } from 'node:fs'
import { LOAD_CORE, SERVER_CORE } from './affinity.ts'
import type { CpuSource } from './cpuUsage.ts'

/** A tick of /proc/stat, on every Linux that Node runs on. */
const TICK_MS = 10

/** How long our two cores have been busy since the machine started, in milliseconds; undefined where /proc is not. */
export function coresBusyMs(): number | undefined {
  const lines = readStat()
  const server = busyMs(lines, SERVER_CORE)
  const load = busyMs(lines, LOAD_CORE)
  return server === undefined || load === undefined ? undefined : server + load
}

function busyMs(lines: string[] | undefined, core: number): number | undefined {
  const line = lines?.find((one) => one.startsWith(`cpu${core} `))
  if (line === undefined) return undefined
  const fields = line.split(/\s+/).slice(1).map(Number)
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = fields
  return (user + nice + system + irq + softirq + steal) * TICK_MS
}

function readStat(): string[] | undefined {
  try {
    return readFileSync('/proc/stat', 'utf8').split('\n')
  } catch {
    return undefined
  }
}

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
