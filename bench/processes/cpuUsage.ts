/**
 * CPU time of the measured processes, and what other processes used of our two cores meanwhile; read from Linux's
 * /proc.
 */
import { readFileSync } from 'node:fs'
import type { Interference } from '../measure/interference.ts'
import { LOAD_CORE, SERVER_CORE } from './affinity.ts'

/** A process that can be asked how much CPU time it has used, in milliseconds. */
export interface CpuSource {
  ask(topic: 'cpu'): Promise<number>
}

/** CPU time so far, in milliseconds. */
interface Usage {
  wall: number
  /** The measured processes and the bench itself. */
  used: number
  /** Both cores, for all processes together. */
  cores: number | undefined
}

/** A clock tick of /proc: 10 ms on every Linux that Node runs on. */
const TICK_MS = 10

/** Does the work, and adds how much CPU time other processes used on our cores meanwhile. */
export async function measureOthersCpu<T extends object>(
  children: readonly CpuSource[],
  work: () => Promise<T>,
): Promise<T & Interference> {
  const before = await readUsage(children)
  const result = await work()
  const after = await readUsage(children)
  if (before.cores === undefined || after.cores === undefined) return result
  const others = after.cores - before.cores - (after.used - before.used)
  return { ...result, othersCpu: Math.max(0, others / (after.wall - before.wall)) }
}

async function readUsage(children: readonly CpuSource[]): Promise<Usage> {
  const servers = await Promise.all(children.map((child) => child.ask('cpu')))
  const used = servers.reduce((sum, ms) => sum + ms, ownCpuMs())
  return { wall: performance.now(), used, cores: coresBusyMs() }
}

export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** How long our two cores have been busy since the machine started, in milliseconds; undefined without /proc. */
export function coresBusyMs(): number | undefined {
  const lines = read('/proc/stat')?.split('\n')
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

/** A process without an IPC channel to the bench: its CPU time comes from /proc. */
export function processCpu(pid: number): CpuSource {
  return { ask: async () => timesOf(pid).own }
}

/** A process and its children. */
export function processTreeCpu(pid: number): CpuSource {
  return {
    async ask() {
      const { own, ended } = timesOf(pid)
      return childrenOf(pid).reduce((sum, child) => sum + timesOf(child).own, own + ended)
    },
  }
}

/** Undefined without /proc. */
export function parentOf(pid: number): number | undefined {
  return fieldsOf(pid)?.[1]
}

/**
 * CPU time of a process, and of its children that have ended. Zero without /proc, where interference is not measured.
 */
function timesOf(pid: number): { own: number; ended: number } {
  const fields = fieldsOf(pid) ?? []
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15)
  return { own: (user + system) * TICK_MS, ended: (endedUser + endedSystem) * TICK_MS }
}

function fieldsOf(pid: number): number[] | undefined {
  const stat = read(`/proc/${pid}/stat`)
  // The program's name is in brackets and may itself contain spaces and brackets.
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
